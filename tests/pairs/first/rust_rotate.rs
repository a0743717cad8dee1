// variants: rows tiles
// An image of 2048 x 2048 bytes is turned: row by row each store goes to another page, by tiles of 64 x 64 lines stay.
const N: usize = 2048;
fn turn(from: &[u8], to: &mut [u8], tile: usize) {
    for rows in (0..N).step_by(tile) {
        for columns in (0..N).step_by(tile) {
            for i in rows..rows + tile {
                for j in columns..columns + tile {
                    to[j * N + N - 1 - i] = from[i * N + j];
                }
            }
        }
    }
}
fn main() {
    let mut image: Vec<u8> = (0..(N * N) as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut other = vec![0; N * N];
    for _ in 0..2 {
        turn(&image, &mut other, if VARIANT == "rows" { N } else { 64 });
        turn(&other, &mut image, if VARIANT == "rows" { N } else { 64 });
        image[0] ^= 1;
    }
    println!("{}", image.iter().fold(0u32, |sum, &x| sum.wrapping_mul(31).wrapping_add(u32::from(x))));
}
