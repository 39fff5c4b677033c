//! The host names under which the server may be reached.
//!
//! If the host name of a foreign page is made to point to this machine (DNS rebinding), the browser
//! lets that page read what is served here, since the name is the same. So a request must name this
//! machine in its Host header, by
//!
//! - `localhost`, or a loopback address;
//! - the IP address at which the connection arrived (no foreign page has it as its name);
//! - if others can connect, the name of the machine, also cut at the first dot, and with `.local`;
//! - a name that was given with `--host-name`.
//!
//! The fuzz target `requests` compiles this file, too.

use std::net::IpAddr;

/// The allowed names.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<HostName>,
}

/// A host name or an address, without a port, in lower case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HostName(String);

impl std::str::FromStr for HostName {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let name = normal(typed);
        let is_sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let is_label = |label: &str| !label.is_empty() && label.chars().all(is_sign);
        if name.parse::<IpAddr>().is_ok() || name.split('.').all(is_label) {
            return Ok(HostName(name));
        }
        Err("give a name or an IP address alone, without http:// and port, such as search.example.org"
            .to_owned())
    }
}

impl Hosts {
    /// The given names, and those of the machine if others can connect.
    pub(crate) fn new(given: &[HostName], is_local: bool) -> Self {
        let mut names = given.to_vec();
        if !is_local {
            names.extend(machine_names().into_iter().filter_map(|name| name.parse().ok()));
        }
        Hosts { names }
    }

    /// The names other than `localhost` and addresses.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| name.0.as_str())
    }

    /// Whether a request that arrived at this address names this machine. `host` are its Host
    /// headers: there must be one.
    pub(crate) fn allow<'a>(&self, host: impl IntoIterator<Item = Option<&'a str>>, reached: IpAddr) -> bool {
        let mut hosts = host.into_iter();
        let (Some(Some(host)), None) = (hosts.next(), hosts.next()) else { return false };
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => name,
            _ => host,
        };
        let name = normal(name);
        let is_own = |ip: IpAddr| ip.is_loopback() || ip.to_canonical() == reached.to_canonical();
        name == "localhost"
            || name.parse().is_ok_and(is_own)
            || self.names.iter().any(|allowed| allowed.0 == name)
    }
}

/// The name in lower case, without IPv6 brackets and without a trailing dot.
fn normal(name: &str) -> String {
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The names by which others may reach this machine.
fn machine_names() -> Vec<String> {
    #[cfg(unix)]
    let full = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let full = std::env::var("COMPUTERNAME").unwrap_or_default();
    let short = full.split('.').next().unwrap_or_default().to_owned();
    let mut names = vec![format!("{short}.local"), full];
    if !names.contains(&short) {
        names.insert(0, short);
    }
    names
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    fn allows(hosts: &Hosts, host: &str) -> bool {
        hosts.allow([Some(host)], HERE)
    }

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        let hosts = Hosts::new(&[], true);
        for host in [
            "localhost",
            "localhost:7878",
            "LOCALHOST:1",
            "localhost.:1",
            "127.0.0.1:80",
            "127.0.0.1",
            "[::1]:7878",
            "[::1]",
            "192.0.2.7:7878",
            "[::ffff:192.0.2.7]:7878",
        ] {
            assert!(allows(&hosts, host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:7878",
            "10.0.0.1:7878",
            "127.0.0.1.evil.example",
            "192.0.2.70",
            "",
            ":80",
            "[]",
        ] {
            assert!(!allows(&hosts, host), "{host}");
        }
        assert!(!hosts.allow([], HERE));
        assert!(!hosts.allow([None], HERE), "not a text");
        assert!(!hosts.allow([Some("localhost"), Some("evil.example")], HERE), "which one is meant?");
    }

    #[test]
    fn given_names_and_those_of_the_machine_are_allowed() {
        let given: HostName = "Search.Example.org".parse().unwrap();
        let hosts = Hosts::new(&[given], false);
        assert!(allows(&hosts, "search.example.org:7878") && !allows(&hosts, "example.org"));
        for name in machine_names().into_iter().filter(|name| !name.is_empty()) {
            assert!(allows(&hosts, &name.to_uppercase()), "{name}");
            assert!(!allows(&hosts, &format!("{name}.evil.example")), "{name}");
        }
    }

    #[test]
    fn a_name_stands_alone() {
        for typed in ["a", "a.b-c_d", "10.1.2.3", "::1", "[::1]", "A."] {
            assert!(typed.parse::<HostName>().is_ok(), "{typed}");
        }
        for typed in ["", ".", "a..", ".a", "a..b", "http://a", "a:80", "a/b", "*.a", "a b", "[::1]:80"] {
            assert!(typed.parse::<HostName>().is_err(), "{typed}");
        }
    }
}
