#![no_main]
docsphere_fuzz::target!("matrix");
