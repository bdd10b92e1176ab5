//! The targets of the fuzzer (see `fuzz/`) on bytes that proptest makes, and on those that a fuzzer once found.

#[path = "../../../fuzz/src/bodies.rs"]
mod bodies;

use proptest::prelude::*;

/// Pieces that readers know, and some bytes between them.
fn pieces(known: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(known).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

const TEXT: &[&str] = &[
    "1",
    "-1",
    "+2.5",
    " ",
    "\n",
    "\r\n",
    "#",
    ":",
    "1:1",
    " 2:0.5",
    " 3:-1e-3",
    "4294967295:1",
    "0:1",
    "1e400",
    "nan",
    "inf",
    "qid:1",
    "\t",
    "99999999999",
    ".",
    "e",
    "BZh9",
    "1,2",
    "0",
];

const MODEL: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "0",
    "48",
    "2,3",
    "-1",
    "null",
    "1e999",
    "\"__metadata__\":",
    "\"weights\":",
    "\"bias\":",
    "\"dtype\":\"F64\"",
    "\"shape\":[2,3]",
    "\"data_offsets\":[0,48]",
    "\"format\":\"couloir classifier\"",
    "\"version\":\"1\"",
    "\"labels\":\"[\\\"1\\\",\\\"2\\\"]\"",
    "{\"__metadata__\":{\"format\":\"couloir classifier\",\"version\":\"1\",\"labels\":\"[\\\"1\\\",\\\"2\\\"]\"},",
    "\"weights\":{\"dtype\":\"F64\",\"shape\":[2,3],\"data_offsets\":[0,48]}}",
];

const RESULTS: &[&str] = &[
    "\n",
    "{",
    "}",
    ",",
    "\"data\":\"b\",",
    "1e308",
    "5e-324",
    "-1",
    "null",
    "18446744073709551615",
    "{\"kind\":\"point\",\"data\":\"a\",\"method\":\"m\",\"repeat\":0,\"iteration\":1,\"seconds\":",
    ",\"gap\":",
    ",\"gradients\":1,\"certificate_gradients\":1,\"component_gradients\":1,\"lo_calls\":1,\"passes\":1}\n",
    "{\"kind\":\"run\",\"data\":\"a\",\"method\":\"m\",\"repeat\":0,\"status\":\"</script>\",\"seed\":1,\"points\":1,\"facts\":{}}\n",
    "{\"kind\":\"run\",\"data\":\"a\",\"method\":\"m\",\"repeat\":18446744073709551615,\"status\":\"\",\"seed\":1,\"points\":1,\"facts\":{}}\n",
    "{\"kind\":\"data\",\"data\":\"b\",\"n\":0,\"d\":0,\"classes\":0,\"entries\":0,\"tau\":0,\"scale\":0}\n",
    "{\"kind\":\"search\",\"data\":\"a\",\"method\":\"m\",\"trials\":[{\"steps\":null,\"gap\":null}],\"chosen\":[1,2],\"seconds\":1}\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn text(bytes in pieces(TEXT)) {
        bodies::text(&bytes);
    }

    #[test]
    fn compressed(bytes in pieces(TEXT)) {
        bodies::compressed(&bytes);
    }

    #[test]
    fn models(bytes in pieces(MODEL)) {
        bodies::model(&bytes);
    }

    #[test]
    fn results(bytes in pieces(RESULTS)) {
        bodies::results(&bytes);
    }

    #[test]
    fn checkpoints(run in 0..bodies::RUNS.len() as u8, place in any::<[u8; 2]>(), piece in prop::collection::vec(any::<u8>(), 1..12)) {
        bodies::checkpoint(&[&[run], &place[..], &piece].concat());
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        bodies::text(&bytes);
        bodies::compressed(&bytes);
        bodies::model(&bytes);
        bodies::results(&bytes);
        bodies::checkpoint(&bytes);
    }
}

#[test]
fn a_checkpoint_that_asks_for_no_error_at_all_comes_to_an_end() {
    bodies::checkpoint(b")p\xca\xff\xff\x00\x00\xca*");
}
