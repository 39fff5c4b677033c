//! What every option does.

use std::process::Stdio;

use serde_json::Value;

use crate::command::{PETS, Place};

/// The terms that `vectorize` keeps of a text.
fn terms(text: &str, options: &str) -> Vec<String> {
    let place = Place::new();
    place.write("own.txt", "cats\n\n  dogs \n");
    place.write("in.txt", text);
    place.ok(&format!("vectorize in.txt -o out -q {options}"));
    place.read("out/vocabulary.txt").lines().map(str::to_owned).collect()
}

#[test]
fn text_options_change_the_terms() {
    let text = "The Cats ran at https://example.com/x in 2024 a\nDogs ran\n";
    for (options, expected) in [
        ("", vec!["cats", "dogs", "ran"]),
        ("--stop-words none", vec!["at", "cats", "dogs", "in", "ran", "the"]),
        ("--stop-words none --stop-words-file own.txt", vec!["at", "in", "ran", "the"]),
        ("--stop-words german,en", vec!["cats", "dogs", "ran"]),
        ("--stop-words german", vec!["at", "cats", "dogs", "ran", "the"]),
        ("--ngrams 2", vec!["cats ran", "dogs ran"]),
        ("--ngrams 1..2", vec!["cats", "cats ran", "dogs", "dogs ran", "ran"]),
        ("--stem english", vec!["cat", "dog", "ran"]),
        ("--min-chars 4", vec!["cats", "dogs"]),
        ("--min-chars 1 --stop-words none", vec!["a", "at", "cats", "dogs", "in", "ran", "the"]),
        ("--keep-urls", vec!["cats", "dogs", "example.com", "https", "ran"]),
        ("--keep-numbers", vec!["2024", "cats", "dogs", "ran"]),
        ("--case-sensitive", vec!["Cats", "Dogs", "The", "ran"]),
        ("--segmentation sklearn --keep-urls", vec!["cats", "com", "dogs", "example", "https", "ran"]),
        ("--max-terms 1 --smooth-idf", vec!["ran"]),
        ("--min-df 2 --smooth-idf", vec!["ran"]),
        ("--min-df 0.9 --smooth-idf", vec!["ran"]),
        ("--max-df 1", vec!["cats", "dogs"]),
        ("--max-df 0.5", vec!["cats", "dogs"]),
    ] {
        let mut found = terms(text, options);
        if options.is_empty() || !options.contains("smooth") {
            // With the paper's idf a term of every document has no weight, and is not kept.
            assert!(!found.contains(&"ran".to_owned()), "{options}: {found:?}");
            found.extend(expected.contains(&"ran").then(|| "ran".to_owned()));
            found.sort();
        }
        assert_eq!(found, expected, "{options}");
    }
}

#[test]
fn a_file_of_stop_words_adds_to_the_languages() {
    let text = "the cats ran avec birds\ndogs sing";
    assert_eq!(terms(text, "--stop-words-file own.txt"), ["avec", "birds", "ran", "sing"]);
    let both = "--stop-words english,french --stop-words-file own.txt";
    assert_eq!(terms(text, both), ["birds", "ran", "sing"]);
}

#[test]
fn every_script_reaches_the_terms() {
    for (text, expected) in [
        ("操作系统\n水", vec!["作系", "操作", "水", "系统"]),
        ("日本のカメラ\nです", vec!["です", "カメラ", "日本", "本の"]),
        ("ไทย\nแมว", vec!["ทย", "มว", "แม", "ไท"]),
        ("한국어 문장\n고양이", vec!["고양이", "문장", "한국어"]),
        ("قطة صغيرة\nكلب", vec!["صغيرة", "قطة", "كلب"]),
        ("חתול קטן\nכלב", vec!["חתול", "כלב", "קטן"]),
        ("छोटी बिल्ली\nकुत्ता", vec!["कुत्ता", "छोटी", "बिल्ली"]),
        ("C++ and AT&T\nC# or F#", vec!["at&t", "c#", "c++", "f#"]),
    ] {
        assert_eq!(terms(text, ""), expected, "{text}");
    }
    assert_eq!(terms("操作系统 C++ unix\nR&D lab", "--segmentation unicode"), ["lab", "unix"]);
    assert_eq!(terms("操作系统 unix\nlab", "--min-chars 4"), ["unix", "作系", "操作", "系统"]);
}

#[test]
fn words_with_hyphens_and_tags_follow_the_options() {
    let text = "COVID-19 zero-shot\n#bitcoin U.S.";
    let parts = ["bitcoin", "covid", "shot", "u.s", "zero"];
    assert_eq!(terms(text, "--hyphens split"), parts);
    let names = ["bitcoin", "covid", "covid-19", "shot", "u.s", "zero"];
    assert_eq!(terms(text, "--hyphens names"), names);
    let both = ["bitcoin", "covid", "covid-19", "shot", "u.s", "zero", "zero-shot"];
    assert_eq!(terms(text, "--hyphens both"), both);
    assert_eq!(terms(text, "--hyphens whole --keep-tags"), ["#bitcoin", "covid-19", "u.s", "zero-shot"]);
    let numbers = ["19", "bitcoin", "covid", "covid-19", "shot", "u.s", "zero", "zero-shot"];
    assert_eq!(terms(text, "--hyphens both --keep-numbers"), numbers);
}

#[test]
fn letters_that_reach_no_term_are_reported_with_the_option_that_helps() {
    let place = Place::new();
    let line = |n: usize| format!("操作系统 the quick cats of house{} chase w{n} mice{}\n", n % 5, n % 7);
    place.write("in.txt", (0..200).map(line).collect::<String>());
    let warning = |options: &str| {
        let shown = place.ok(&format!("vectorize in.txt -o out --force {options}"));
        shown.lines().find(|line| line.starts_with("warning: ")).map(str::to_owned)
    };
    assert_eq!(warning("--smooth-idf"), None);
    let rest = "of the letters (stop words and web addresses apart) reach no term";
    for (options, cause, help) in [
        ("", "of terms in all documents, which weigh nothing", "--smooth-idf keeps them"),
        ("--smooth-idf --min-df 100", "of terms in too few documents", "a smaller --min-df keeps them"),
        ("--smooth-idf --max-df 100", "of terms in too many documents", "a greater --max-df keeps them"),
        ("--smooth-idf --min-chars 6", "of words that are too short", "a smaller --min-chars keeps them"),
        (
            "--smooth-idf --max-terms 3",
            "of terms that are not among the most frequent",
            "a greater --max-terms keeps them",
        ),
    ] {
        let warning = warning(options).unwrap();
        assert!(warning.contains(rest), "{warning}");
        assert!(warning.ends_with(&format!(" % are {cause}: {help}")), "{options}: {warning}");
    }
    place.write("zh.txt", "操作系统的内核模块 linux\n计算机程序语言 unix\n".repeat(60));
    let shown = place.ok("vectorize zh.txt -o out --force --segmentation unicode");
    let expected = " % are of no word by this segmentation, as in scripts without spaces: --segmentation words splits every script\n";
    assert!(shown.contains("warning: ") && shown.contains(expected), "{shown}");
}

#[cfg(not(feature = "dictionary"))]
#[test]
fn dictionaries_that_are_not_built_in_are_refused() {
    let place = Place::new();
    place.write("in.txt", "操作系统\n");
    let done = place.run("vectorize in.txt -o out -q --unspaced dictionary");
    let hint = "cargo feature `dictionary`, or choose `bigrams`";
    assert!(done.code == Some(1) && done.stderr.contains(hint), "{:?}: {}", done.code, done.stderr);
}

#[test]
fn weights_follow_the_options() {
    let place = Place::new();
    place.write("in.txt", "cats cats cats dogs\ncats birds\nfish\n");
    let value = |out: &str, options: &str| {
        place.ok(&format!("vectorize in.txt -o {out} -q {options}"));
        let rows = docsphere::formats::read(place.path(&format!("{out}/matrix.npz"))).unwrap();
        // Terms ascend: birds, cats, dogs, fish.
        let row: Vec<(u32, f32)> = rows.row(0).iter().collect();
        f64::from(row[0].1) / f64::from(row[1].1)
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
    let (paper_cats, paper_dogs) = ((3.0f64 / 2.0).ln(), 3.0f64.ln());
    let (smooth_cats, smooth_dogs) = ((4.0f64 / 3.0).ln() + 1.0, 2.0f64.ln() + 1.0);
    close(value("paper", ""), 3.0 * paper_cats / paper_dogs);
    close(value("smooth", "--smooth-idf"), 3.0 * smooth_cats / smooth_dogs);
    close(value("sublinear", "--sublinear-tf"), (1.0 + 3.0f64.ln()) * paper_cats / paper_dogs);
}

#[test]
fn text_fields_are_joined_and_ids_taken_from_the_field_named() {
    let place = Place::new();
    place.write("t.csv", "nr,title,body\n7,cats,purr\n8,dogs,bark\n9,cats,\n10,dogs,run\n");
    place.ok("cluster t.csv --text-field title --text-field body --id-field nr -k 2 -o out");
    place.assert_pets("out", ["7", "8", "9", "10"]);
    assert_eq!(place.json("out/clusters.json")["n_terms"], 5);
    place.ok("vectorize t.csv --text-field body -o numbered -q");
    assert_eq!(place.read("numbered/ids.txt"), "1\n2\n3\n4\n");
}

#[test]
fn bad_records_are_left_out_and_counted_on_demand() {
    let place = Place::new();
    place.write("b.jsonl", "{\"id\":\"x\",\"text\":\"cats purr\"}\nnot json\n{\"id\":\"y\",\"text\":\"dogs bark\"}\n{\"id\":\"x\"}\n{\"id\":\"x\",\"text\":\"dogs\"}\n");
    let shown = place.ok("cluster b.jsonl -k 2 -o out --skip-bad-records");
    let note = "note: 2 records could not be read and were left out: b.jsonl:2, b.jsonl:4\n";
    assert!(shown.contains(note), "{shown}");
    assert_eq!(place.json("out/trace.json")["notes"][0], note.trim_end());
    assert!(shown.contains("note: 1 document has an id that an earlier one has too\n"), "{shown}");
    let ids: Vec<_> = place.assignments("out").into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["x", "y", "x"]);
    // Wherever standard output is for data the notes go to standard error.
    for words in
        ["assign out b.jsonl --skip-bad-records", "cluster b.jsonl -k 2 -o json --json --skip-bad-records"]
    {
        let done = place.run(words);
        assert!(done.stderr.starts_with(&format!("docsphere: {note}")), "{}", done.stderr);
        assert!(!done.stdout.contains("note"), "{}", done.stdout);
    }
}

#[test]
fn documents_without_terms_get_minus_one_and_do_not_stop_the_run() {
    let place = Place::new();
    place.write("in.txt", format!("{PETS}\nthe\n42\n"));
    let shown = place.ok("cluster in.txt -k 2 -o out --runner-up");
    assert!(shown.contains("note: 3 documents have no term and are in no cluster (-1)\n"), "{shown}");
    let lines: Vec<String> = place.read("out/assignments.csv").lines().skip(5).map(str::to_owned).collect();
    assert_eq!(
        lines,
        ["5,-1,0.000000,-1,0.000000", "6,-1,0.000000,-1,0.000000", "7,-1,0.000000,-1,0.000000"]
    );
    assert_eq!(place.ok("verify out in.txt"), "checked 7 documents against 2 centroids: 0 mismatches\n");
}

#[test]
fn empty_clusters_are_told() {
    let place = Place::new();
    place.write("same.txt", "cats purr\ncats purr\ndogs bark\ndogs bark\n");
    let shown = place.ok("cluster same.txt -k 3 -o out");
    assert!(shown.starts_with("4 documents, 4 terms, 2 clusters\n"), "{shown}");
    assert!(shown.contains("note: 1 cluster is empty: there are fewer distinct documents than clusters\n"));
    assert_eq!(place.json("out/clusters.json")["clusters"][2]["size"], 0);
    place.ok("inspect out --cluster 2");
}

#[test]
fn every_way_to_begin_gives_a_result_and_the_seed_counts() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o first");
    place.ok("export first -o centroids");
    for (number, options) in [
        "--init random",
        "--init plain-k-means++",
        "--init k-means++",
        "--init k-means++ --candidates 4",
        "--init centroids/centroids.npz",
        "--n-init 5",
        "--seed 7 --tol 0 --max-iter 3",
        "--strategy ncc-index --lambdas 0.2,0.5 --index-min-changed 1 --threads 2",
    ]
    .into_iter()
    .enumerate()
    {
        place.ok(&format!("cluster pets.txt -k 2 -o out{number} {options}"));
        place.assert_complete(&format!("out{number}"));
    }
    // From the centroids of a finished run nothing moves any more.
    assert_eq!(place.assignments("out4"), place.assignments("first"));
    assert_eq!(place.json("out5/trace.json")["runs"].as_array().unwrap().len(), 5);
    assert_eq!(place.json("out6/clusters.json")["seed"], 7);
    let trace = place.json("out7/trace.json");
    assert_eq!((&trace["strategy"], &trace["threads"]), (&"ncc-index".into(), &2.into()));
}

#[test]
fn a_run_that_may_not_go_on_says_so() {
    let place = Place::new();
    place.write("in.txt", crate::command::generated_corpus(3_000));
    let shown = place.ok("cluster in.txt -k 60 -o out --max-iter 1");
    assert!(shown.contains("\nnot converged after 1 iteration, objective "), "{shown}");
    assert!(shown.contains("\nnote: raise --max-iter to go on\n"), "{shown}");
    assert_eq!(place.json("out/clusters.json")["converged"], false);
}

#[test]
fn show_keywords_and_representatives_limit_what_is_shown() {
    let place = Place::with_pets();
    let shown = place.ok("cluster pets.txt -k 3 -o out --show 1 --keywords 1 --representatives 0");
    assert!(shown.contains("\nand 2 more clusters\n"), "{shown}");
    let clusters = place.json("out/clusters.json");
    assert_eq!(clusters["clusters"][0]["keywords"].as_array().unwrap().len(), 1);
    assert_eq!(clusters["clusters"][0]["representatives"].as_array().unwrap().len(), 0);
    assert!(place.ok("inspect out --show 2").ends_with("and 1 more cluster\n"));
}

#[test]
fn json_is_all_there_is_on_standard_output_and_quiet_is_quiet() {
    let place = Place::with_pets();
    let printed: Value = serde_json::from_str(&place.ok("cluster pets.txt -k 2 -o json --json")).unwrap();
    assert_eq!(printed, place.json("json/clusters.json"));
    assert_eq!(place.ok("cluster pets.txt -k 2 -o quiet --quiet"), "");
    assert_eq!(place.ok("vectorize pets.txt -o vectors --quiet"), "");
    let verified: Value = serde_json::from_str(&place.ok("verify json pets.txt --json")).unwrap();
    assert_eq!(verified, serde_json::json!({"checked": 4, "clusters": 2, "mismatches": 0, "list": []}));
    for words in [
        "inspect json --json",
        "inspect json --cluster 1 --json",
        "inspect json/model.docsphere --cluster 1 --json",
    ] {
        serde_json::from_str::<Value>(&place.ok(words)).unwrap();
    }
}

#[test]
fn colours_appear_only_where_they_are_wanted() {
    let place = Place::with_pets();
    assert!(!place.ok("cluster pets.txt -k 2 -o plain").contains('\x1b'));
    let coloured = |no_color: bool| {
        let mut command = place.command(["inspect", "plain"]);
        command.env("CLICOLOR_FORCE", "1");
        if no_color {
            command.env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap().contains('\x1b')
    };
    assert!(coloured(false));
    assert!(!coloured(true));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let place = Place::new();
    let text: String =
        (0..20_000).map(|n| format!("{} word{n}\n", ["cats purr", "dogs bark"][n % 2])).collect();
    place.write("in.txt", text);
    place.ok("cluster in.txt -k 2 -o out --max-iter 1");
    for words in [
        "assign out in.txt",
        "assign out in.txt --as jsonl",
        "inspect out",
        "inspect out --json",
        "verify out in.txt --sample 3",
        "completions bash",
        "export out -o export",
        "vectorize in.txt -o vectors",
        "cluster in.txt -k 2 -o again --max-iter 1",
        "cluster in.txt -k 2 -o more --max-iter 1 --json",
    ] {
        let mut child = place.command(words.split(' ')).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words}");
    }
    place.assert_complete("again");
}

#[test]
fn the_output_folder_may_be_written_in_many_ways() {
    let place = Place::with_pets();
    place.write("a/b/keep.txt", "");
    std::fs::create_dir(place.path("empty")).unwrap();
    for out in ["out", "trailing/", "./dot", "a/b/c", "./a/b/d/", "empty"] {
        place.ok(&format!("cluster pets.txt -k 2 -o {out}"));
        place.assert_complete(out);
    }
    let absolute = place.path("absolute");
    place.ok(&format!("cluster pets.txt -k 2 -o {}", absolute.display()));
    place.assert_complete("absolute");
    assert_eq!(place.names("a/b"), ["c", "d", "keep.txt"]);
}

#[test]
fn assign_finds_the_nearest_clusters_and_the_share_of_unknown_words() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out");
    place.write("new.txt", "cats meow purr\nbirds sing\ncats dogs dogs\n");
    let done = place.run("assign out new.txt --top 2");
    assert_eq!(done.code, Some(0));
    assert_eq!(done.stderr, "docsphere: note: 1 document has no term that the model knows (-1)\n");
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(lines[0], "id,cluster,similarity,cluster_2,similarity_2,unknown_share");
    let cats = place.assignments("out")[0].1;
    assert!(lines[1].starts_with(&format!("1,{cats},0.")) && lines[1].ends_with(",0.333"), "{}", lines[1]);
    assert_eq!(lines[2], "2,-1,0.000000,-1,0.000000,1.000");

    // The model file itself serves as well as the folder; -o writes the same lines into a file.
    place.ok("assign out/model.docsphere new.txt --top 2 -o labels.csv --quiet");
    assert_eq!(place.read("labels.csv"), done.stdout);
    let strict = place.ok("assign out new.txt --min-similarity 0.99 --quiet");
    assert!(strict.lines().skip(1).all(|line| line.contains(",-1,0.000000,")), "{strict}");
    let line = place.ok("assign out new.txt --as jsonl --quiet");
    let first: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["id"], &first["cluster"], &first["unknown_share"]),
        (&"1".into(), &cats.into(), &0.333333.into())
    );
    assert_eq!(place.names("."), ["labels.csv", "new.txt", "out", "pets.txt"]);
}

#[test]
fn verify_checks_a_sample() {
    let place = Place::with_pets();
    place.ok("cluster pets.txt -k 2 -o out --assignments jsonl");
    assert_eq!(
        place.ok("verify out pets.txt --sample 3"),
        "checked 3 documents against 2 centroids: 0 mismatches\n"
    );
    assert_eq!(
        place.ok("verify out pets.txt --sample 99"),
        "checked 4 documents against 2 centroids: 0 mismatches\n"
    );
}

#[test]
fn the_demo_may_be_repeated_but_writes_over_nothing_else() {
    let place = Place::new();
    place.ok("demo");
    let again = place.ok("demo");
    let (words, _) = again.split_once("\n\n").unwrap();
    assert!(words.starts_with("$ docsphere cluster docsphere-demo.jsonl -k 20 "), "{words}");
    assert!(words.contains(" --force"), "{words}");
    place.assert_complete("docsphere-demo");
    place.write("mine.jsonl", "{}");
    let done = place.run("demo -o mine");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            Some(1),
            "docsphere: error: mine.jsonl: is there already and is not the demo's corpus; choose another --output\n"
        )
    );
    assert_eq!(place.read("mine.jsonl"), "{}");

    // A result of one's own is safe, also when the demo is tried again.
    place.write("pets.txt", PETS);
    place.ok("cluster pets.txt -k 2 -o own");
    for _ in 0..2 {
        assert_eq!(place.run("demo -o own").code, Some(1));
        assert_eq!(place.json("own/clusters.json")["n_documents"], 4);
        assert!(!place.path("own.jsonl").exists());
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let place = Place::new();
    for (shell, part) in
        [("bash", "_docsphere"), ("zsh", "#compdef docsphere"), ("fish", "complete -c docsphere")]
    {
        assert!(place.ok(&format!("completions {shell}")).contains(part), "{shell}");
    }
    place.ok("man pages");
    assert!(place.names("pages").contains(&"docsphere-cluster.1".to_owned()));
    assert!(place.read("pages/docsphere-cluster.1").contains("\\-\\-checkpoint\\-every"));
}
