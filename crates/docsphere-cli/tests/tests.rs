//! The real binary, in an empty folder for each test.

// How the binary is run.
mod command;

// Kept columns: from every format to every file of a result.
mod columns;
// Results against each other, and against known labels.
mod comparing;
// Options from files: --config, and what other commands take from a result.
mod configurations;
// Names of clusters and groups, outliers, silhouettes.
mod descriptions;
// Copies of documents.
mod duplicates;
// The same assignments whatever the strategy and the number of threads.
mod exactness;
// Edits by people, which can be taken back.
mod editing;
// Tables, pictures and pages of a result.
mod exporting;
// The page that people look at, and the server behind it.
mod explorer;
// What is refused: the exact message and the exit code.
mod errors;
// Every format of documents and matrices, plain and compressed.
mod formats;
// A fault at every operation on files: devices that fail, full disks, processes that end.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod faults;
// Texts that people read, against files in tests/golden; UPDATE_GOLDEN=1 writes them anew.
mod golden;
// Tables, encodings and pages as other programs write them.
mod files_of_others;
// Documents that are added to a result and removed from it.
mod growing;
// Help texts, and that options are the library's.
mod help;
// Documents in several languages.
#[cfg(feature = "languages")]
mod languages;
// Signals, kills, checkpoints, limits: what a run of hours must survive.
mod long_runs;
// Runs over rows in a file, and their faults.
#[cfg(target_os = "linux")]
mod large;
// The limit of memory, whatever files promise or unpack to. Peaks are known on Linux only.
#[cfg(target_os = "linux")]
mod memory;
// What every option does.
mod options;
// Input that can be read only once.
mod pipes;
// Damaged and hostile Parquet files.
#[cfg(feature = "parquet")]
mod parquet_files;
// Results whose assignments are in parts.
mod parts;
// Long documents, cut into passages.
mod passages;
// What every output file holds.
mod results;
// Several numbers of clusters in one run.
mod sweep;
// The texts of a run: read once, kept beside the result, gone in the end.
mod texts;
// Documents as points: the file, and what pages show of it.
mod points;
// What is never deleted or written over.
mod safety;
// Standard output and standard error: escapes, closed pipes, full disks.
mod terminal;
// The server under load, and among clients that mean it harm.
mod server;
// The server's points, hits by cluster, and filters by kept columns.
mod server_points;
// Edits from the page of a server.
mod server_edits;
