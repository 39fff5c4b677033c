//! Decompresses pages. Never writes more than the page header states.

use std::io::Read;

use super::{Result, damaged, unsupported};

/// The compression of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Plain,
    Snappy,
    Gzip,
    Brotli,
    /// The older LZ4, which has three variants.
    Lz4,
    Zstd,
    Lz4Raw,
}

impl Codec {
    /// The codec with this number in the format.
    pub(super) fn from_number(number: i64) -> Result<Self> {
        Ok(match number {
            0 => Codec::Plain,
            1 => Codec::Snappy,
            2 => Codec::Gzip,
            3 => return Err(unsupported("LZO compression")),
            4 => Codec::Brotli,
            5 => Codec::Lz4,
            6 => Codec::Zstd,
            7 => Codec::Lz4Raw,
            other => return Err(damaged("a known compression", format!("number {other}"))),
        })
    }

    /// Decompresses `packed` and appends the result to `out`: exactly `n_bytes`. The caller has
    /// checked that they may be allocated.
    pub(super) fn unpack(self, packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        // Some writers compress empty data to empty data, which not every format considers valid.
        if n_bytes == 0 {
            return Ok(());
        }
        let unpacked = match self {
            Codec::Plain => {
                out.extend_from_slice(packed);
                Ok(())
            }
            Codec::Snappy => snappy(packed, n_bytes, out),
            Codec::Gzip => read_limited(flate2::read::MultiGzDecoder::new(packed), n_bytes, out),
            Codec::Brotli => read_limited(brotli_decompressor::Decompressor::new(packed, 4096), n_bytes, out),
            Codec::Zstd => zstd(packed, n_bytes, out),
            Codec::Lz4Raw => lz4_block(packed, n_bytes, out),
            Codec::Lz4 => lz4(packed, n_bytes, out),
        };
        let expected = || format!("a page that unpacks to {n_bytes} bytes");
        unpacked.map_err(|found| damaged(expected(), found))?;
        match out.len() - start {
            found if found == n_bytes => Ok(()),
            found if found > n_bytes => Err(damaged(expected(), "more")),
            found => Err(damaged(expected(), found)),
        }
    }
}

type Unpacked = std::result::Result<(), String>;

/// Reads one byte more than expected, to detect excess data.
fn read_limited(reader: impl Read, n_bytes: usize, out: &mut Vec<u8>) -> Unpacked {
    out.reserve_exact(n_bytes + 1);
    reader.take(n_bytes as u64 + 1).read_to_end(out).map(|_| ()).map_err(|error| error.to_string())
}

/// Lets `unpack` write the next `n_bytes`, and keeps as many as it reports.
fn fill<E: ToString>(
    n_bytes: usize,
    out: &mut Vec<u8>,
    unpack: impl FnOnce(&mut [u8]) -> std::result::Result<usize, E>,
) -> Unpacked {
    let start = out.len();
    out.resize(start + n_bytes, 0);
    let n_written = unpack(&mut out[start..]).map_err(|error| error.to_string());
    out.truncate(start + *n_written.as_ref().unwrap_or(&0));
    n_written.map(|_| ())
}

fn snappy(packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Unpacked {
    match snap::raw::decompress_len(packed) {
        Ok(stated) if stated == n_bytes => {
            fill(n_bytes, out, |out| snap::raw::Decoder::new().decompress(packed, out))
        }
        Ok(stated) => Err(format!("{stated}, as the packed bytes state")),
        Err(error) => Err(error.to_string()),
    }
}

fn zstd(packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Unpacked {
    fill(n_bytes, out, |out| zstd::bulk::decompress_to_buffer(packed, out))
}

fn lz4_block(packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Unpacked {
    fill(n_bytes, out, |out| lz4_flex::block::decompress_into(packed, out))
}

/// Hadoop's blocks; otherwise a frame; otherwise, as some programs wrote for a while, a bare block.
fn lz4(packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Unpacked {
    let start = out.len();
    let kinds = [
        lz4_hadoop,
        |packed: &[u8], n_bytes: usize, out: &mut Vec<u8>| {
            read_limited(lz4_flex::frame::FrameDecoder::new(packed), n_bytes, out)
        },
        lz4_block,
    ];
    let mut found = Ok(());
    for unpack in kinds {
        out.truncate(start);
        found = unpack(packed, n_bytes, out);
        if found.is_ok() && out.len() - start == n_bytes {
            break;
        }
    }
    found
}

/// Blocks, each preceded by its two sizes: decompressed, compressed.
fn lz4_hadoop(packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Unpacked {
    let cut_off = || "blocks of LZ4 that are cut off".to_owned();
    let (mut rest, mut left) = (packed, n_bytes);
    while !rest.is_empty() {
        let (sizes, after) = rest.split_first_chunk::<8>().ok_or_else(cut_off)?;
        let [a, b, c, d, e, f, g, h] = *sizes;
        let size = u32::from_be_bytes([a, b, c, d]) as usize;
        let packed_size = u32::from_be_bytes([e, f, g, h]) as usize;
        let (block, after) = after.split_at_checked(packed_size).ok_or_else(cut_off)?;
        left = left.checked_sub(size).ok_or("blocks of LZ4 that hold more")?;
        lz4_block(block, size, out)?;
        rest = after;
    }
    Ok(())
}
