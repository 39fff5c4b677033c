//! The machine, the version and the date, without which a number is worthless.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The head of a report.
pub(super) fn header() -> Vec<(&'static str, String)> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let cores = docsphere::all_cores();
    let build = if cfg!(debug_assertions) { "with debug assertions: seconds mean little" } else { "release" };
    vec![
        ("command", format!("`{}`", command_line(std::env::args()))),
        ("date", utc(seconds)),
        ("CPU", cpu_model().unwrap_or_else(|| "not known".to_owned())),
        ("cores", cores.to_string()),
        ("SIMD", simd_features().join(" ")),
        ("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        ("version", format!("{}, {build}", env!("CARGO_PKG_VERSION"))),
    ]
}

/// The command line, quoted for a shell, with the program's name without its folder.
fn command_line(mut args: impl Iterator<Item = String>) -> String {
    let program = args.next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_plain = |c: char| c.is_alphanumeric() || "._-+,:/=@%".contains(c);
    let quoted = args.map(|arg| {
        if !arg.is_empty() && arg.chars().all(is_plain) {
            arg
        } else {
            format!("'{}'", arg.replace('\'', r"'\''"))
        }
    });
    std::iter::once(program).chain(quoted).collect::<Vec<_>>().join(" ")
}

fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The SIMD features of the processor that may matter here.
#[cfg(target_arch = "x86_64")]
fn simd_features() -> Vec<&'static str> {
    let features = [
        ("sse4.2", is_x86_feature_detected!("sse4.2")),
        ("avx", is_x86_feature_detected!("avx")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512dq", is_x86_feature_detected!("avx512dq")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
        ("avx512vl", is_x86_feature_detected!("avx512vl")),
        ("avx512vbmi", is_x86_feature_detected!("avx512vbmi")),
    ];
    features.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

/// The SIMD features of the processor that may matter here.
#[cfg(target_arch = "aarch64")]
fn simd_features() -> Vec<&'static str> {
    let features = [
        ("neon", std::arch::is_aarch64_feature_detected!("neon")),
        ("sve", std::arch::is_aarch64_feature_detected!("sve")),
        ("sve2", std::arch::is_aarch64_feature_detected!("sve2")),
    ];
    features.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

/// Other processors are not asked.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn simd_features() -> Vec<&'static str> {
    vec!["not known"]
}

/// Seconds since 1970 as a date and a time of day.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_date(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC", second % 60)
}

/// Year, month and day of a number of days after 1 January 1970. Years begin in March here, so that
/// the leap day is the last; 400 of them have 146,097 days.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // from 1 March of the year 0
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_709_251_199), "2024-02-29 23:59:59 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00:00 UTC");
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let args = ["/some/where/docsphere-bench", "speed", "--corpus", "my texts.jsonl", "it's"];
        let line = command_line(args.into_iter().map(str::to_owned));
        assert_eq!(line, r"docsphere-bench speed --corpus 'my texts.jsonl' 'it'\''s'");
    }

    #[test]
    fn every_line_says_something() {
        assert!(header().iter().all(|(_, value)| !value.is_empty()));
    }
}
