//! Compiles the kernels for the CPU, for the feature `emulation`.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    #[cfg(feature = "emulation")]
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .file("kernels/emulated.cpp")
        .compile("docsphere-kernels");
}
