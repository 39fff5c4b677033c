//! Named places at which a test can end the process, as a crash or a loss of power would.
//!
//! Only builds with debug assertions have them; a release build contains nothing of this.

#[cfg(debug_assertions)]
static HOOK: std::sync::OnceLock<Box<dyn Fn(&'static str) + Send + Sync>> = std::sync::OnceLock::new();

/// Calls `hook` with the name of each fail point that the process passes from now on. Only for
/// docsphere's own tests.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub fn watch_fail_points(hook: impl Fn(&'static str) + Send + Sync + 'static) {
    let _ = HOOK.set(Box::new(hook));
}

/// A place at which a test may end the process.
#[doc(hidden)]
#[inline]
pub fn fail_point(name: &'static str) {
    #[cfg(debug_assertions)]
    if let Some(hook) = HOOK.get() {
        hook(name);
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
}
