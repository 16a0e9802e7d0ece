//! The frame reader on streams that are whole, damaged, and split anywhere.

use super::*;
use proptest::prelude::*;

const LIMIT: u64 = 64;

/// Decodes a stream that arrives in these pieces. Skipped bytes are joined, because their split is arbitrary.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Frame>, Result<(), Unframeable>) {
    let mut decoder = Decoder::new(LIMIT);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.room().extend_from_slice(piece);
        loop {
            match decoder.piece() {
                None => break,
                Some(Frame::Skipped(more)) => match frames.last_mut() {
                    Some(Frame::Skipped(bytes)) => bytes.extend(more),
                    _ => frames.push(Frame::Skipped(more)),
                },
                Some(frame) => frames.push(frame),
            }
        }
    }
    (frames, decoder.finish())
}

fn body(text: &str) -> Frame {
    Frame::Body(text.as_bytes().to_vec())
}

fn bad(fault: Fault, bytes: &str) -> Frame {
    Frame::Bad { fault, bytes: bytes.as_bytes().to_vec() }
}

fn skipped(text: &str) -> Frame {
    Frame::Skipped(text.as_bytes().to_vec())
}

#[test]
fn header_spellings_of_all_clients_are_accepted() {
    for stream in [
        "Content-Length: 2\r\n\r\n{}",
        "content-length:2\r\n\r\n{}",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH:  2 \r\n\r\n{}",
        "Content-Length: 2\r\nContent-Length: 2\r\nX: \r\n\r\n{}",
        "\r\n\nContent-Length: 2\n\n{}",
    ] {
        assert_eq!(read([stream.as_bytes()]), (vec![body("{}")], Ok(())), "{stream:?}");
    }
}

#[test]
fn next_frame_is_found_after_invalid_input() {
    let next = "Content-Length: 2\r\n\r\n{}";
    for (stream, mut frames) in [
        ("hello\r\n", vec![bad(Fault::NotAHeader, ""), skipped("hello\r\n")]),
        ("{\"a\":1}", vec![bad(Fault::NotAHeader, ""), skipped("{\"a\":1}")]),
        ("A: b\r\n: c\r\n", vec![bad(Fault::NotAHeader, "A: b\r\n"), skipped(": c\r\n")]),
        (
            "Content-Length: two\r\n\r\n{}",
            vec![bad(Fault::BadLength, ""), skipped("Content-Length: two\r\n\r\n{}")],
        ),
        (
            "Content-Length: -2\r\n\r\n{}\n",
            vec![bad(Fault::BadLength, ""), skipped("Content-Length: -2\r\n\r\n{}\n")],
        ),
        (
            "Content-Length: 99999999999999999999\r\n\r\n",
            vec![bad(Fault::BadLength, ""), skipped("Content-Length: 99999999999999999999\r\n\r\n")],
        ),
        ("Content-Type: x\r\n\r\n{}", vec![bad(Fault::NoLength, "Content-Type: x\r\n\r\n"), skipped("{}")]),
        // A length that is too short leaves the rest of the body before the next header.
        (
            "Content-Length: 2\r\n\r\n{}more content-length: ",
            vec![body("{}"), bad(Fault::NotAHeader, ""), skipped("more content-length: ")],
        ),
    ] {
        frames.push(body("{}"));
        assert_eq!(read([stream.as_bytes(), next.as_bytes()]), (frames, Ok(())), "{stream:?}");
    }
}

#[test]
fn body_over_the_limit_is_skipped_and_reported_early() {
    let large = format!("{{\"id\":1,\"a\":\"{}\"}}", "a".repeat(10_000));
    let stream = format!("{}{large}{}{{}}", head(large.len()), head(2));
    let (frames, end) = read(stream.as_bytes().chunks(999));
    let fault = Fault::TooLarge { limit: LIMIT, actual: large.len() as u64 };
    assert_eq!(frames, [bad(fault, large.get(..HEAD).unwrap()), body("{}")]);
    assert_eq!(end, Ok(()));
    // The fault is reported before the whole body has arrived.
    let (frames, end) = read([format!("{}{}", head(1 << 40), "a".repeat(HEAD)).as_bytes()]);
    assert!(matches!(frames[..], [Frame::Bad { .. }]), "{frames:?}");
    assert_eq!(end, Err(Unframeable::EndInside));
}

#[test]
fn body_at_the_limit_is_accepted() {
    let exact = "a".repeat(usize::try_from(LIMIT).unwrap());
    let stream = format!("{}{exact}", head(exact.len()));
    assert_eq!(read([stream.as_bytes()]), (vec![body(&exact)], Ok(())));
}

#[test]
fn end_inside_a_frame_is_an_error() {
    for stream in ["C", "Content-Length: 2\r\n", "Content-Length: 2\r\n\r\n{", "hello", "hello\r\n"] {
        assert_eq!(read([stream.as_bytes()]).1, Err(Unframeable::EndInside), "{stream:?}");
    }
    for stream in ["", "\r\n", "Content-Length: 0\r\n\r\n"] {
        assert_eq!(read([stream.as_bytes()]).1, Ok(()), "{stream:?}");
    }
}

#[test]
fn invalid_input_of_any_length_is_skipped() {
    let next = format!("{}{{}}", head(2));
    for (garbage, faults) in [
        (b"x".repeat(8 << 20), vec![Fault::HeaderTooLong]),
        (b"{\"a\": 1}\n".repeat(1 << 20), vec![Fault::NotAHeader]),
        (
            [b"X-Long: ".to_vec(), b"x".repeat(8 << 20), b"\r\n\r\n".to_vec()].concat(),
            vec![Fault::HeaderTooLong],
        ),
        // Each length starts a header again; the last of them runs into the valid one.
        (
            b"Content-Length: 5\r\n".repeat(1 << 10),
            vec![Fault::HeaderTooLong, Fault::HeaderTooLong, Fault::BadLength],
        ),
    ] {
        let mut decoder = Decoder::new(LIMIT);
        let (mut found, mut bodies, mut passed, mut most) = (Vec::new(), 0, 0, 0);
        let stream = [garbage.as_slice(), next.as_bytes()].concat();
        for piece in stream.chunks(16 << 10) {
            decoder.room().extend_from_slice(piece);
            while let Some(frame) = decoder.piece() {
                match frame {
                    Frame::Bad { fault, bytes } => {
                        passed += bytes.len();
                        found.push(fault);
                    }
                    Frame::Skipped(bytes) => passed += bytes.len(),
                    Frame::Body(body) => bodies += usize::from(body == b"{}"),
                }
            }
            most = most.max(decoder.buffer.capacity());
        }
        assert_eq!((found, bodies, passed), (faults, 1, garbage.len()));
        assert!(most <= 4 * KEEP, "{most} bytes were held");
        assert_eq!(decoder.finish(), Ok(()));
    }
}

/// The longest valid header, and one a byte longer, with the stream split anywhere.
#[test]
fn header_is_too_long_by_its_own_length() {
    let header = |length: usize| {
        let ends = "Content-Length: 2\r\nA: \r\n\r\n".len();
        format!("Content-Length: 2\r\nA: {}\r\n\r\n{{}}", "x".repeat(length - ends))
    };
    for (length, is_read) in [(MOST_HEADER, true), (MOST_HEADER + 1, false)] {
        let stream = format!("{}{}[]", header(length), head(2));
        for cut in [1, 100, MOST_HEADER - 1, MOST_HEADER, MOST_HEADER + 1, stream.len()] {
            let (frames, end) = read(stream.as_bytes().chunks(cut));
            let is_body = |frame: &&Frame| matches!(frame, Frame::Body(_));
            assert_eq!(frames.iter().filter(is_body).count(), 1 + usize::from(is_read), "{length} by {cut}");
            assert_eq!(end, Ok(()));
        }
    }
}

/// A stream with a frame of each kind.
fn stream() -> Vec<u8> {
    let large = format!("{{\"id\":1,\"a\":\"{}\"}}", "a".repeat(100));
    format!(
        "{}{{\"a\":1}}what\r\n{}{{}}Content-Length: x\r\n\r\n{{}}Content-Type: y\r\n\r\n[]{}{large}\r\n{}[]",
        head(7),
        head(2),
        head(large.len()),
        head(2)
    )
    .into_bytes()
}

#[test]
fn split_points_do_not_change_the_frames() {
    let stream = stream();
    let whole = read([stream.as_slice()]);
    assert_eq!(whole.1, Ok(()));
    assert_eq!(whole.0.iter().filter(|frame| matches!(frame, Frame::Body(_))).count(), 3);
    assert_eq!(whole.0.iter().filter(|frame| matches!(frame, Frame::Bad { .. })).count(), 3);
    assert_eq!(read(stream.chunks(1)), whole);
    for cut in 0..stream.len() {
        let (left, right) = stream.split_at(cut);
        assert_eq!(read([left, right]), whole, "cut at {cut}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_decode_alike_in_any_pieces(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40),
                "(Content-Length: ?[0-9a]{1,3}\r?\n|\r?\n|A: b\r\n|[{}a-c\" ]{0,20})".prop_map(String::into_bytes),
            ],
            0..20,
        ),
        size in 1_usize..50,
    ) {
        let stream = pieces.concat();
        let whole = read([stream.as_slice()]);
        prop_assert_eq!(&read(stream.chunks(size)), &whole);
        prop_assert_eq!(&read(pieces.iter().map(Vec::as_slice)), &whole);
    }
}
