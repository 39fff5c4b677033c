//! What is refused: the exact message and the exit code. Nothing is left behind.

use crate::command::Place;

/// A folder with an input of each kind of trouble.
fn troubled() -> Place {
    let place = Place::with_pets();
    place.write("bad.jsonl", "{\"id\":\"x\",\"text\":\"cats purr\"}\n{\"id\":\"y\",\"text\":\"dogs bark\"}\n{\"id\":1\n{\"id\":\"z\"}\n");
    place.write("table.csv", "nr,body\n1,cats purr\n");
    place.write("empty.txt", "");
    place.write("wordless.txt", "\n. .\nthe\n");
    place.write("other.xyz", "");
    place.write("paper.rtf", "{\\rtf1");
    place.write("names.txt", "cat\n");
    place.write("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n");
    place.write("folder/mine.txt", "precious");
    place.write("cut.txt.gz", b"\x1f\x8b\x08\x00\x00");
    place
}

/// What is typed, the exit code, and the message.
const REFUSALS: &[(&str, i32, &str)] = &[
    ("cluster none.txt -k 2 -o out", 1, "none.txt: cannot read: No such file or directory (os error 2)"),
    (
        "cluster other.xyz -k 2 -o out",
        1,
        "other.xyz: guessing the format from this name is not supported; known are folders, *.txt, *.jsonl, *.ndjson, *.json, *.csv, *.tsv, *.mbox, *.parquet, *.xlsx and *.ods, each but the last three also with .gz or .zst, and single documents (*.html, *.md, *.eml, *.docx, *.odt, *.epub, *.pdf); for other names and standard input name it with --format: lines, jsonl, csv, tsv, parquet, sheet or mbox",
    ),
    (
        "cluster paper.rtf -k 1 -o out",
        1,
        "paper.rtf: a file of the kind RTF is not supported; convert the file, for example with LibreOffice (soffice --headless --convert-to txt), leave it out with --glob, or give --skip-bad-records",
    ),
    (
        "cluster pets.txt -k 2 -o out --delimiter ;",
        2,
        "--delimiter must be given with CSV or TSV input only, got ';'",
    ),
    (
        "cluster bad.jsonl -k 2 -o out",
        1,
        "bad.jsonl:3: bad JSON Lines record: expected a JSON object with text, found EOF while parsing an object at column 7; mend it, or leave such records out with --skip-bad-records",
    ),
    (
        "cluster table.csv -k 1 -o out",
        1,
        "table.csv:1: there is no field \"text\"; the fields are nr, body; --text-field names the field to take",
    ),
    (
        "cluster table.csv --text-field body --id-field id -k 1 -o out",
        1,
        "table.csv:1: there is no field \"id\"; the fields are nr, body; --id-field names the field to take",
    ),
    ("cluster empty.txt -k 2 -o out", 1, "empty.txt: has no documents"),
    (
        "cluster wordless.txt -k 1 -o out",
        1,
        "wordless.txt: 3 documents were read, but no document has any term that tells it from others: a term of all documents weighs nothing (unless with --smooth-idf), and empty texts have none; see also --stop-words, --min-chars, --min-df, --max-df and --keep-numbers",
    ),
    (
        "cluster pets.txt -k 5 -o out",
        1,
        "-k must be at most 4, the number of documents that have a term, got 5",
    ),
    ("cluster pets.txt -k 0 -o out", 2, "-k must be from 1 to 16777216, got 0"),
    ("cluster pets.txt -k 16777217 -o out", 2, "-k must be from 1 to 16777216, got 16777217"),
    ("cluster pets.txt -k 2 -o out --threads 0", 2, "--threads must be from 1 to 4096, got 0"),
    ("cluster pets.txt -k 2 -o out --n-init 0", 2, "--n-init must be at least 1, got 0"),
    ("cluster pets.txt -k 2 -o out --max-iter 0", 2, "--max-iter must be at least 1, got 0"),
    ("cluster pets.txt -k 2 -o out --tol nan", 2, "--tol must be a finite number, at least 0, got NaN"),
    (
        "cluster pets.txt -k 2 -o out --lambdas 0.5,2",
        2,
        "--lambdas must be numbers above 0, at most 1, got 2",
    ),
    (
        "cluster pets.txt -k 2 -o out --init best",
        2,
        "--init must be merge, k-means++, plain-k-means++, random or a matrix file, got \"best\"",
    ),
    (
        "cluster pets.txt -k 2 -o out --init random --candidates 3",
        2,
        "--candidates goes with --init k-means++ only",
    ),
    ("cluster pets.txt -k 2 -o out --init random --fine 3", 2, "--fine goes with --init merge only"),
    ("cluster pets.txt -k 2 -o out --fine 1", 2, "--fine must be from 2 to 100, got 1"),
    ("cluster m.mtx -k 3 -o out --init m.mtx", 2, "-k must be 2, the number of given centroids, got 3"),
    ("cluster pets.txt -k 2 -o out --json -q", 2, "--json and --quiet contradict each other"),
    ("cluster pets.txt pets.txt -k 2 -o out", 2, "INPUT must be different files, got pets.txt twice"),
    ("cluster pets.txt -k 2 -o out --vocabulary names.txt", 2, "--vocabulary goes with a matrix file only"),
    (
        "cluster m.mtx -k 2 -o out --vocabulary names.txt",
        1,
        "names.txt: has 1 lines, but the matrix has 2 columns; give one name a line",
    ),
    (
        "cluster - --format npz -k 2 -o out",
        2,
        "a matrix cannot be read from standard input; put it into a file and name that",
    ),
    ("cluster m.mtx m.mtx --format mtx -k 2 -o out", 2, "give one matrix file at a time"),
    (
        "cluster pets.txt -k 2 -o out --min-df 0.9 --max-df 0.1",
        1,
        "--max-df must be at least --min-df, which is 3.6 of 4 documents, got 0.4",
    ),
    (
        "cluster pets.txt -k 2 -o out --stop-words-file no.txt",
        1,
        "no.txt: cannot read: No such file or directory (os error 2)",
    ),
    (
        "cluster folder -k 2 -o out --format lines",
        1,
        "folder: only one document was read, so no term tells it from others; clusters need several",
    ),
    ("cluster pets.txt -k 2 -o none/out", 1, "none/out: the folder none does not exist; make it first"),
    (
        "cluster pets.txt -k 2 -o pets.txt",
        1,
        "pets.txt: is there already and is not a folder; choose another name",
    ),
    (
        "cluster none.txt -k 2 -o /proc/out",
        1,
        "/proc/out: cannot make a folder there: No such file or directory (os error 2)",
    ),
    ("cluster pets.txt -k 2 -o .", 1, ".: is no name for a new folder; give one, such as ./out"),
    (
        "cluster pets.txt -k 2 -o out --checkpoint none/c",
        1,
        "--checkpoint none/c: the folder none does not exist; make it first",
    ),
    (
        "cluster pets.txt -k 2 -o out --checkpoint folder",
        1,
        "--checkpoint folder: is a folder; give the name of a file",
    ),
    (
        "cluster pets.txt -k 2 -o out --resume pets.txt",
        1,
        "pets.txt: not valid docsphere checkpoint: expected a file that begins with the mark of a docsphere checkpoint, found another kind of file",
    ),
    (
        "inspect pets.txt",
        1,
        "pets.txt: not valid docsphere model: expected a file that begins with the mark of a docsphere model, found another kind of file",
    ),
    ("inspect none", 1, "none: cannot read: No such file or directory (os error 2)"),
    (
        "verify folder pets.txt",
        1,
        "folder/model.docsphere: cannot read: No such file or directory (os error 2)",
    ),
    ("assign none pets.txt", 1, "none: cannot read: No such file or directory (os error 2)"),
    ("export none -o out", 1, "none: cannot read: No such file or directory (os error 2)"),
    ("vectorize none.txt -o out", 1, "none.txt: cannot read: No such file or directory (os error 2)"),
    ("vectorize pets.txt -o out --threads 0", 2, "--threads must be from 1 to 4096, got 0"),
    (
        "merge folder --groups 2",
        1,
        "folder/clusters.json: cannot read: No such file or directory (os error 2)",
    ),
];

#[test]
fn every_refusal_says_what_is_wrong_and_what_to_do() {
    let place = troubled();
    let before = place.names(".");
    for (words, code, message) in REFUSALS {
        let done = place.run(words);
        assert_eq!(done.stderr, format!("docsphere: error: {message}\n"), "docsphere {words}");
        assert_eq!((done.code, done.stdout.as_str()), (Some(*code), ""), "docsphere {words}");
        assert_eq!(place.names("."), before, "docsphere {words}");
    }
}

#[test]
fn a_damaged_archive_names_the_file() {
    let place = troubled();
    let done = place.run("cluster cut.txt.gz -k 2 -o out");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.starts_with("docsphere: error: cut.txt.gz: "), "{}", done.stderr);
    assert_eq!(done.stderr.lines().count(), 1);
}

#[test]
fn unknown_languages_are_answered_with_the_known_ones() {
    let place = Place::with_pets();
    for (option, begin) in [
        ("--stem", "--stem must be one of arabic, "),
        ("--stop-words", "--stop-words must be one of "),
        ("--language", "--language must be auto, or one of afrikaans, "),
    ] {
        let done = place.run(&format!("cluster pets.txt -k 2 -o out {option} klingon"));
        assert_eq!(done.code, Some(2));
        assert!(done.stderr.starts_with(&format!("docsphere: error: {begin}")), "{}", done.stderr);
        assert!(
            done.stderr.contains("english") && done.stderr.ends_with("got \"klingon\"\n"),
            "{}",
            done.stderr
        );
    }
}

#[test]
fn wrong_usage_ends_with_2_and_names_the_option() {
    let place = Place::with_pets();
    for (words, part) in [
        ("", "Usage: docsphere <COMMAND>"),
        ("guess", "unrecognized subcommand 'guess'"),
        ("cluster -k 2 -o out", "<INPUT>..."),
        ("cluster pets.txt -k two -o out", "invalid value 'two' for '--n-clusters <K>'"),
        (
            "cluster pets.txt -k 2 -o out --format xml",
            "known are lines, jsonl, csv, tsv, parquet, sheet, mbox, folder and npz, mtx, svmlight, bow",
        ),
        (
            "cluster pets.txt -k 2 -o out --strategy fast",
            "one of auto, baseline, ncc, index, ncc-index, inverted, drift",
        ),
        ("cluster pets.txt -k 2 -o out --ngrams 4", "give one number from 1 to 3, or two such as 1..2"),
        (
            "cluster pets.txt -k 2 -o out --min-df 1.5",
            "give a whole number of documents, or a share from 0.0 to 1.0",
        ),
        ("cluster pets.txt -k 2 -o out --time-limit soon", "give a time such as 90, 30m or 2h"),
        ("cluster pets.txt -k 2 -o out --max-memory lots", "give a number of bytes such as 500M or 8G"),
        ("cluster pets.txt -k 2 -o out --checkpoint-every 2", "--checkpoint <FILE>"),
        (
            "cluster pets.txt -k 2 -o out --checkpoint c --checkpoint-every 0",
            "give a whole number, at least 1",
        ),
        ("cluster pets.txt -k 2 -o out --stop-words german,klingon", "--stop-words must be one of"),
        ("cluster pets.txt -k 2 -o out --unspaced spaces", "[possible values: bigrams, dictionary]"),
        ("assign m pets.txt --min-similarity nan", "give a number from -1 to 1"),
        ("completions cmd", "invalid value 'cmd'"),
    ] {
        let done = place.run(words);
        assert_eq!(done.code, Some(2), "docsphere {words}");
        assert!(done.stderr.contains(part), "docsphere {words}: {}", done.stderr);
        assert_eq!(place.names("."), ["pets.txt"]);
    }
}

#[test]
fn a_result_is_replaced_only_with_force_and_only_if_it_is_one() {
    let place = troubled();
    place.ok("cluster pets.txt -k 2 -o out");
    let first = place.read("out/trace.json");
    let done = place.run("cluster pets.txt -k 2 -o out");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            Some(1),
            "docsphere: error: out: is there already; choose another name with -o, or replace it with --force\n"
        )
    );
    assert_eq!(place.read("out/trace.json"), first);
    place.ok("cluster pets.txt -k 3 -o out --force");
    assert_eq!(place.json("out/clusters.json")["n_clusters"], 3);
    place.assert_complete("out");

    for force in ["", " --force"] {
        let done = place.run(&format!("cluster pets.txt -k 2 -o folder{force}"));
        assert_eq!(
            (done.code, done.stderr.as_str()),
            (
                Some(1),
                "docsphere: error: folder: is there already and holds no such result (there is no clusters.json), so it is not replaced, even with --force; choose another name\n"
            )
        );
    }
    assert_eq!(place.read("folder/mine.txt"), "precious");
    // One command's results are not another's.
    let done = place.run("vectorize pets.txt -o out --force");
    assert_eq!(done.code, Some(1));
    place.assert_complete("out");
}

#[test]
fn models_and_inputs_that_do_not_belong_together_are_refused() {
    let place = troubled();
    place.ok("cluster pets.txt -k 2 -o text");
    place.ok("cluster m.mtx -k 2 -o matrix");
    place.write("more.txt", "cats purr\n");
    place.write("named.csv", "id,text\nq,cats purr softly\nr,dogs bark\ns,cats\nt,dogs\n");
    for (words, message) in [
        (
            "assign matrix pets.txt",
            "this model was made from a matrix and does not know how to read text; give it a matrix file",
        ),
        ("assign text m.mtx", "m.mtx: has 2 columns, but the model has 8 terms"),
        ("verify text m.mtx", "m.mtx: has 2 columns, but the model has 8 terms"),
        (
            "verify text more.txt",
            "the input has 1 document, but the result has 4; give the same input and input options as to cluster",
        ),
        (
            "verify text named.csv",
            "document 1 is \"q\" in the input, but \"1\" in the result; give the same input and input options as to cluster",
        ),
        ("inspect text --cluster 2", "there is no cluster 2; they run from 0 to 1"),
    ] {
        let done = place.run(words);
        assert_eq!(done.stderr, format!("docsphere: error: {message}\n"), "docsphere {words}");
        assert_eq!(done.code, Some(1), "docsphere {words}");
    }
    let done = place.run("assign text pets.txt --top 0");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (Some(2), "docsphere: error: --top must be at least 1, got 0\n")
    );
}

#[test]
fn verify_finds_an_assignment_that_was_tampered_with() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out");
    let text = place.read("out/assignments.csv");
    let line = text.lines().nth(1).unwrap();
    let moved =
        if line.starts_with("1,0,") { line.replace("1,0,", "1,1,") } else { line.replace("1,1,", "1,0,") };
    place.write("out/assignments.csv", text.replace(line, &moved));
    let done = place.run("verify out pets.txt");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (Some(1), "docsphere: error: the result does not hold for 1 document\n")
    );
    assert!(
        done.stdout.ends_with("checked 4 documents against 2 centroids: 1 mismatches\n"),
        "{}",
        done.stdout
    );
    let done = place.run("verify out pets.txt --json");
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&report["mismatches"], &report["list"][0]["id"]), (&1.into(), &"1".into()));
}

#[test]
fn merge_refuses_what_is_no_level_and_no_tree() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out");
    let before = place.read("out/groups.json");
    for (words, message) in [
        (
            "merge out --groups 0",
            "--groups must be from 1 to 2, the number of clusters that are not empty, got 0",
        ),
        (
            "merge out --groups 3",
            "--groups must be from 1 to 2, the number of clusters that are not empty, got 3",
        ),
    ] {
        let done = place.run(words);
        assert_eq!((done.code, done.stderr), (Some(2), format!("docsphere: error: {message}\n")));
    }
    let damaged = [
        (before.replace("\"left\": 0", "\"left\": 1"), "a merge tree must be"),
        (before.replace("\"n_clusters\": 2", "\"n_clusters\": 3"), "they do not belong together"),
        ("{}".to_owned(), "out/groups.json: holds no groups"),
    ];
    for (text, message) in damaged {
        assert_ne!(text, before);
        place.write("out/groups.json", text.as_bytes());
        let done = place.run("merge out --groups 1");
        assert!(done.code == Some(1) && done.stderr.contains(message), "{}", done.stderr);
        assert_eq!(place.read("out/groups.json"), text, "nothing is written over");
    }
    assert!(!place.path("out/groups.csv").exists());
}
