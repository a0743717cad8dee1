//! Bytes as printable text: two of 91 characters for 13 bits, which is 8 % less than base64 takes.
//!
//! Takes bytes, gives characters of ASCII without spaces, `<`, `>` and `&`: they need no escapes in a document,
//! whatever its encoding is taken for. The first bits of the bytes are the lowest; the reader is told how many bytes
//! there are.

const CHARACTERS: [u8; 91] = {
    let mut list = [0; 91];
    let (mut at, mut code) = (0, b'!');
    while at < list.len() {
        if !matches!(code, b'<' | b'>' | b'&') {
            list[at] = code;
            at += 1;
        }
        code += 1;
    }
    list
};

#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len() * 16 / 13 + 2);
    let (mut bits, mut have) = (0u32, 0);
    let mut put = |value: u32| {
        text.push(CHARACTERS[(value / 91) as usize]);
        text.push(CHARACTERS[(value % 91) as usize]);
    };
    for byte in bytes {
        bits |= u32::from(*byte) << have;
        have += 8;
        if have >= 13 {
            put(bits & 0x1fff);
            bits >>= 13;
            have -= 13;
        }
    }
    if have > 0 {
        put(bits);
    }
    text.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Does what `unwritten` of the page does.
    fn decode(text: &str, length: usize) -> Vec<u8> {
        let value = |c: u8| CHARACTERS.iter().position(|known| *known == c).expect("known") as u64;
        let mut bits: Vec<bool> = Vec::new();
        for pair in text.as_bytes().chunks(2) {
            let value = value(pair[0]) * 91 + value(pair[1]);
            bits.extend((0..13).map(|bit| value >> bit & 1 == 1));
        }
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        bits.chunks(8).take(length).map(byte).collect()
    }

    proptest! {
        #[test]
        fn it_can_be_read_back(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = encode(&bytes);
            prop_assert!(text.bytes().all(|c| c.is_ascii_graphic() && !b"<>&".contains(&c)));
            prop_assert_eq!(decode(&text, bytes.len()), bytes);
        }
    }
}
