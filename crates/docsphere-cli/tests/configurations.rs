//! Options from files: --config, and what other commands take from a result.

use std::fs;

use crate::command::{Place, repository};

/// A table with everything that input options are for.
const TABLE: &str = "key;headline;body;day;kind\n\
    a;cats purr;softly at night;2024-01-01;x\n\
    b;dogs bark;loudly at night;2024-01-02;y\n\
    c;cats sleep;by the fire;2024-01-03;x\n\
    d;dogs run;in the park;2024-01-04;y\n\
    e;cats hunt;mice in the park;2024-01-05;x\n\
    f;dogs dig;holes by the fire;2024-01-06;y\n";

const OPTIONS: &str = "--format csv --delimiter ; --text-field headline --text-field body --id-field key \
    --date-field day --keep kind --stop-words-file more/stop.txt --ngrams 1..2 --min-df 1 --max-df 1.0 \
    --smooth-idf --keep-urls -k 3 --n-init 2 --seed 18446744073709551615 --tol 0 --effort fast --lambdas 0.9,0.8 \
    --runner-up --silhouette --keywords 4 --representatives 2 --min-similarity 0.05 --report-chars 100 \
    --assignments jsonl --duplicates drop --index";

/// A folder with the table, of a name that does not tell its format.
fn place() -> Place {
    let place = Place::new();
    place.write("data/table.dump", TABLE);
    place.write("more/stop.txt", "at\nthe\n");
    place
}

/// Runs words that succeed, whatever they note. Returns the notes.
fn noted(place: &Place, words: &str) -> String {
    let done = place.run(words);
    assert_eq!(done.code, Some(0), "docsphere {words}: {}", done.stderr);
    done.stderr
}

#[track_caller]
fn assert_same_files(place: &Place, one: &str, other: &str) {
    assert_eq!(place.names(one), place.names(other));
    // The trace has seconds.
    for name in place.names(one).iter().filter(|name| *name != "trace.json") {
        let read = |out: &str| fs::read(place.path(&format!("{out}/{name}"))).unwrap();
        assert!(read(one) == read(other), "{name} differs");
    }
    let settings = |out: &str| place.json(&format!("{out}/trace.json"))["settings"].clone();
    assert_eq!(settings(one), settings(other));
}

#[test]
fn a_result_holds_what_repeats_it_to_the_byte() {
    let place = place();
    place.ok(&format!("cluster data/table.dump {OPTIONS} -o out -q"));
    let kept = place.read("out/run.toml");
    assert!(kept.contains("\n[input]\ninputs = [\"../data/table.dump\"]\nformat = \"csv\"\n"), "{kept}");
    assert!(kept.contains("\nstop-words-file = \"../more/stop.txt\"\n"), "{kept}");
    assert!(
        kept.contains("\nseed = \"18446744073709551615\"\n") && kept.contains("\nmax-df = 1.0\n"),
        "{kept}"
    );
    for word in ["output", "quiet", "checkpoint", "threads"] {
        assert!(!kept.contains(&format!("\n{word} =")), "{word} in {kept}");
    }
    place.ok("cluster --config out/run.toml -o again -q");
    assert_same_files(&place, "out", "again");
    // Also in its own place, and with everything as by default.
    place.ok("cluster --config out/run.toml -o out --force -q");
    assert_same_files(&place, "out", "again");
    place.ok("cluster data/table.dump --format lines -o plain -q");
    assert!(place.read("plain/run.toml").contains("\nn-clusters = 2\n"), "the chosen number");
    place.ok("cluster --config plain/run.toml -o plainer -q");
    assert_same_files(&place, "plain", "plainer");
}

#[test]
fn what_is_typed_goes_before_the_file() {
    let place = place();
    place.ok(&format!("cluster data/table.dump {OPTIONS} -o out -q"));
    place.write(
        "pets.csv",
        "name,headline,day\n1,cats purr,2024-01-01\n2,dogs bark,2024-01-02\n3,cats sleep,\n4,dogs dig,\n",
    );
    place.ok(
        "cluster pets.csv --config out/run.toml -k 2 --format csv --delimiter , --text-field headline --id-field name \
         --keep name --date-field day --assignments csv -o other -q --duplicates keep --seed 3 --effort default",
    );
}

#[test]
fn paths_are_relative_to_the_file() {
    let place = place();
    place.write(
        "data/conf/my.toml",
        "inputs = [\"../table.dump\"]\n[clustering]\nn-clusters = 2\n[input]\nformat = 'lines'\n",
    );
    place.ok("cluster --config data/conf/my.toml -o out -q");
    let settings = place.json("out/trace.json")["settings"].clone();
    let input = settings.as_array().unwrap().iter().find(|setting| setting["name"] == "INPUT").unwrap();
    assert_eq!(input["values"][0], "data/table.dump");
    let absolute = place.path("data/table.dump");
    place.write("abs.toml", format!("inputs = \"{}\"\nformat = \"lines\"\n", absolute.display()));
    place.ok("cluster --config abs.toml -k 2 -o out2 -q");
    assert!(place.read("out2/run.toml").contains(absolute.to_str().unwrap()));
}

#[test]
fn a_file_that_cannot_be_followed_is_refused_with_its_line() {
    let place = Place::with_pets();
    let refused = |toml: &str, message: &str| {
        place.write("my.toml", toml);
        let done = place.run("cluster --config my.toml -o out");
        assert_eq!(done.stderr, format!("docsphere: error: my.toml{message}\n"));
        assert_eq!((done.code, place.names(".").len()), (Some(2), 2));
    };
    let inputs = "inputs = [\"pets.txt\"]\n";
    let with = |line: &str| format!("{inputs}{line}\n");
    for (line, message) in [
        ("seed = true", ":2: seed: must be a text in quotes or a number"),
        ("seed = [1, 2]", ":2: seed: takes one value, not a list"),
        ("seed = \"x\"", ":2: seed: invalid digit found in string, got \"x\""),
        ("keep-urls = 1", ":2: keep-urls: must be true or false"),
        ("assignments = 'xml'", ":2: assignments: must be one of csv, jsonl, parquet, got \"xml\""),
        (
            "n-clusters = '2..3'",
            ":2: n-clusters: give one number, or auto; docsphere sweep compares several, got \"2..3\"",
        ),
        ("[text]\nseed = 1", ":3: seed: belongs into the table [clustering], not [text]"),
        ("[texts]\nngrams = 1", ":3: there is no table [texts]; ngrams belongs into [text]"),
        (
            "[duplicates]\nn_clusters = 1",
            ":3: there is no option \"n_clusters\" in [duplicates]; there are duplicates, duplicate-similarity",
        ),
    ] {
        refused(&with(line), message);
    }
    place.write("my.toml", with("stopwords = 'none'"));
    let done = place.run("cluster --config my.toml -o out");
    let unknown = "docsphere: error: my.toml:2: there is no option \"stopwords\"; there are ";
    assert!(done.stderr.starts_with(unknown) && done.stderr.contains(", stop-words, "), "{}", done.stderr);
    place.write("my.toml", with("config = 'other.toml'"));
    assert!(place.run("cluster --config my.toml").stderr.contains("there is no option \"config\""));
    refused(
        "seed = 1\n",
        ": names no input; give INPUT, or add to the file, in the table [input]: inputs = [\"...\"]",
    );
    place.write("my.toml", "a = \n");
    let done = place.run("cluster --config my.toml -o out");
    assert!(done.stderr.starts_with("docsphere: error: my.toml:1: is not valid TOML: "), "{}", done.stderr);
    let done = place.run("cluster --config no.toml -o out");
    assert!(done.stderr.starts_with("docsphere: error: no.toml: cannot read: "), "{}", done.stderr);
    assert!(place.run("cluster -k 2").stderr.contains("<INPUT>"));
}

#[test]
fn other_commands_take_input_options_from_the_result() {
    let place = place();
    place.ok(&format!("cluster data/table.dump {OPTIONS} -o out -q"));
    let note = "docsphere: note: as in out/run.toml: --format csv --text-field headline --text-field body \
                --id-field key --delimiter ;\n";
    let done = place.run("verify out data/table.dump");
    assert_eq!((done.stderr.as_str(), done.code), (note, Some(0)));
    assert_eq!(done.stdout, "checked 6 documents against 3 centroids: 0 mismatches\n");
    assert_eq!(noted(&place, "index out data/table.dump"), note);
    assert_eq!(noted(&place, "index out data/table.dump -q"), "");
    assert_eq!(noted(&place, "score out data/table.dump --label-field kind"), note);
    // Only those that were not typed.
    let done = place.run("verify out data/table.dump --id-field headline");
    assert!(done.stderr.contains(
        "as in out/run.toml: --format csv --text-field headline --text-field body --delimiter ;\n"
    ));
    assert_eq!(done.code, Some(1));
    // New documents may be in another format.
    place.write("new.jsonl", "{\"headline\": \"cats\", \"body\": \"mice\", \"key\": \"n\"}\n");
    let done = place.run("assign out new.jsonl");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.starts_with("id,cluster,") && done.stdout.contains("\nn,"), "{}", done.stdout);
    place.write("out/run.toml", "[input]\ntext-field = 1979-05-27\n");
    let done = place.run("assign out new.jsonl");
    assert!(
        done.stderr.starts_with("docsphere: error: out/run.toml:2: text-field: must be "),
        "{}",
        done.stderr
    );
    assert_eq!(done.code, Some(1));
}

#[test]
fn a_sweep_and_its_results_have_their_configurations() {
    let place = Place::new();
    let corpus = repository().join("crates/docsphere-cli/corpora/everyday.jsonl");
    let corpus = if corpus.exists() {
        fs::read_to_string(corpus).unwrap()
    } else {
        crate::command::generated_corpus(300)
    };
    place.write("in.dump", corpus.lines().take(200).map(|line| format!("{line}\n")).collect::<String>());
    place.ok("sweep in.dump --format lines -k 2,4 --stability off -o out -q");
    place.ok("sweep --config out/run.toml -o again -q");
    for k in ["k-2", "k-4"] {
        let assignments = |out: &str| place.read(&format!("{out}/{k}/assignments.csv"));
        assert_eq!(assignments("out"), assignments("again"));
    }
    assert_eq!(place.read("out/run.toml"), place.read("again/run.toml"));
    assert!(
        place.read("out/run.toml").contains("\nn-clusters = \"2,4\"\n"),
        "{}",
        place.read("out/run.toml")
    );
    let step = place.read("out/k-4/run.toml");
    assert!(
        step.contains("\ninputs = [\"../../in.dump\"]\n") && step.contains("\nn-clusters = 4\n"),
        "{step}"
    );
    assert!(!step.contains("stability"), "{step}");
    noted(&place, "verify out/k-2 in.dump");
    place.ok("cluster --config out/k-4/run.toml -o one -q");
}
