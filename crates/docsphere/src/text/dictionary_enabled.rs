//! Words of scripts without spaces, by the dictionaries of ICU.

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;

use crate::error::Result;

/// Dictionaries are in this build.
pub(super) fn check_build() -> Result<()> {
    Ok(())
}

/// Calls `word` for each word of a run of letters.
pub(super) fn words<'a>(text: &'a str, word: &mut impl FnMut(&'a str)) {
    // Borrows static data: it costs nothing to make.
    let segmenter = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
    let mut start = 0;
    for end in segmenter.segment_str(text).filter(|&end| end > 0) {
        word(&text[start..end]);
        start = end;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_script_has_a_dictionary() {
        for expected in [
            "操作|系统|的",
            "日本語|の|文章|を|単語|に|分割|する",
            "ภาษา|ไทย|ไม่มี|ช่อง|ว่าง",
            "ພາສາ|ລາວ|ບໍ່ມີ|ຊ່ອງ|ວ່າງ",
            "ភាសាខ្មែរ|មិន|មាន|ចន្លោះ|ទេ",
            "မြန်မာဘာသာ|စကား",
        ] {
            let mut found = Vec::new();
            let text = expected.replace('|', "");
            super::words(&text, &mut |word: &str| found.push(word.to_owned()));
            assert_eq!(found.join("|"), expected);
        }
    }
}
