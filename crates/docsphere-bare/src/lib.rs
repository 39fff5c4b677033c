//! Tests of docsphere without any of its features: see `crates/docsphere/tests/bare.rs`.
