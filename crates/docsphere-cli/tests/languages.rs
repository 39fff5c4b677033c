//! Documents in several languages: the language of each chooses its stop words and its stemmer.

use serde_json::Value;

use crate::command::Place;

/// Documents on two subjects, each in English, German and French, and scraps of text. Written for
/// this test.
const MIXED: &str = "\
The cats are sleeping in the sun, and the cat of the neighbour is purring at the warm stove
A cat that is sleeping does not want to be stroked, but most cats purr when they are
Our cat has been purring since this morning, because she knows that the other cats are outside
Die Katzen schlafen in der Sonne, und die Katze des Nachbarn schnurrt am warmen Ofen
Eine Katze, die schläft, will nicht gestreichelt werden, aber die meisten Katzen schnurren dabei
Unsere Katze schnurrt seit heute Morgen, weil sie weiß, dass die anderen Katzen draußen sind
Les chats dorment au soleil, et le chat du voisin ronronne près du poêle chaud
Un chat qui dort ne veut pas être caressé, mais la plupart des chats ronronnent alors
Notre chat ronronne depuis ce matin, parce qu'il sait que les autres chats sont dehors
The bank is raising its rates, and the shares of the other banks are falling on the market
When the rate of a bank rises, its share should rise with it, but these shares have fallen
Most banks have said that they will not raise the rates for their customers this year
Die Bank erhöht ihre Zinsen, und die Aktien der anderen Banken fallen an der Börse
Wenn der Zins einer Bank steigt, sollte ihre Aktie auch steigen, aber diese Aktien sind gefallen
Die meisten Banken haben gesagt, dass sie die Zinsen für ihre Kunden nicht erhöhen werden
La banque augmente ses taux, et les actions des autres banques baissent sur le marché
Quand le taux d'une banque monte, son action devrait monter aussi, mais ces actions ont baissé
La plupart des banques ont dit qu'elles ne vont pas augmenter les taux pour leurs clients
die
";

const AUTO: &str = "--language auto --stem auto --keywords 30";

fn mixed() -> Place {
    let place = Place::new();
    place.write("mixed.txt", MIXED);
    place
}

fn vocabulary(place: &Place, options: &str) -> Vec<String> {
    place.ok(&format!("vectorize mixed.txt -o terms -q {options}"));
    let terms = place.read("terms/vocabulary.txt").lines().map(str::to_owned).collect();
    std::fs::remove_dir_all(place.path("terms")).unwrap();
    terms
}

#[test]
fn each_document_loses_the_stop_words_of_its_language_alone() {
    let place = mixed();
    let plain = vocabulary(&place, "");
    for word in ["der", "les", "des", "nicht", "die"] {
        assert!(plain.contains(&word.to_owned()), "{word}");
    }
    for options in ["--language auto", "--language en,de,fr", "--language english,german,french"] {
        let terms = vocabulary(&place, options);
        for word in ["der", "les", "nicht", "the"] {
            assert!(!terms.contains(&word.to_owned()), "{word} with {options}");
        }
        assert!(["katzen", "banks", "actions"].iter().all(|word| terms.contains(&(*word).to_owned())));
        // The last document is of no certain language: "die" is a word there, unless German is named.
        assert_eq!(terms.contains(&"die".to_owned()), options == "--language auto", "{options}");
    }
    let stems = vocabulary(&place, "--language auto --stem auto");
    for (stem, form) in [("cat", "cats"), ("katz", "katzen"), ("banqu", "banques"), ("schnurrt", "schnurren")]
    {
        let has = |word: &str| stems.contains(&word.to_owned());
        assert!((has(stem) || stem == "schnurrt") && !has(form), "{stem} for {form}: {stems:?}");
    }
    // No list for any language, and one for all.
    assert!(vocabulary(&place, "--language auto --stop-words none").contains(&"der".to_owned()));
}

#[test]
fn the_languages_are_told_and_kept_with_the_result() {
    let place = mixed();
    let done = place.run(&format!("cluster mixed.txt -k 6 -o out {AUTO}"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let found = "note: languages of the documents: english 6, french 6, german 6";
    let uncertain = "note: 1 document is of no certain language";
    for note in [found, uncertain] {
        assert!(done.stdout.contains(note), "{}", done.stdout);
        let notes = place.json("out/trace.json")["notes"].clone();
        assert!(
            notes.as_array().unwrap().iter().any(|kept| kept.as_str().unwrap().starts_with(note)),
            "{notes}"
        );
    }
    let assigned = place.run("assign out mixed.txt");
    assert!(assigned.stderr.contains(found), "{}", assigned.stderr);
}

#[test]
fn keywords_and_names_are_full_forms_in_every_language() {
    let place = mixed();
    place.ok(&format!("cluster mixed.txt -k 6 -o out {AUTO}"));
    let clusters = place.json("out/clusters.json")["clusters"].clone();
    let keywords = || clusters.as_array().unwrap().iter().flat_map(|c| c["keywords"].as_array().unwrap());
    let written = |term: &str| -> Vec<&Value> {
        keywords().filter(|keyword| keyword["term"] == term).map(|keyword| &keyword["written"]).collect()
    };
    for (term, forms) in [("katz", ["katze", "katzen"]), ("banqu", ["banque", "banques"])] {
        let written = written(term);
        assert!(!written.is_empty(), "{term}");
        assert!(written.iter().all(|form| forms.contains(&form.as_str().unwrap())), "{term}: {written:?}");
    }
    for cluster in clusters.as_array().unwrap() {
        let name = cluster["name"].as_str().unwrap();
        assert!(!name.split([',', ' ']).any(|word| ["katz", "banqu", "akti"].contains(&word)), "{name}");
    }
    let shown = place.ok("inspect out");
    assert!(!shown.contains("katz,") && !shown.contains("banqu,"), "{shown}");
}

#[test]
fn new_documents_are_treated_as_those_of_the_run_were() {
    let place = mixed();
    let run = format!("cluster mixed.txt -k 6 -o out {AUTO} --seed 3");
    place.ok(&run);
    let clusters =
        |out: &str| -> Vec<i32> { place.assignments(out).into_iter().map(|line| line.1).collect() };
    let assigned = place.ok("assign out mixed.txt -q");
    let assigned: Vec<i32> =
        assigned.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert_eq!(assigned, clusters("out"));
    place.ok("verify out mixed.txt");
    // Neither threads nor parallel reading matter.
    place.ok(&format!("{run} --threads 3").replace("-o out", "-o other"));
    assert_eq!(place.assignments("other"), place.assignments("out"));
    // A passage is a document.
    place.ok(&format!("cluster mixed.txt -k 6 -o passages {AUTO} --split sentences"));
}

#[test]
fn auto_needs_the_detection_of_languages() {
    let place = mixed();
    let done = place.run("cluster mixed.txt -k 6 -o out --stem auto");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("(auto needs --language)"), "{}", done.stderr);
}
