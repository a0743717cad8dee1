// variants: rows tiles
// An image of 4096 x 2048 bytes is turned: row by row a line is met again after 4096 others, by tiles after 32.
const WIDTH: usize = 4096;
const HEIGHT: usize = 2048;
fn turn(from: &[u8], to: &mut [u8], rows_of_tile: usize, columns_of_tile: usize) {
    for rows in (0..HEIGHT).step_by(rows_of_tile) {
        for columns in (0..WIDTH).step_by(columns_of_tile) {
            for i in rows..rows + rows_of_tile {
                for j in columns..columns + columns_of_tile {
                    to[j * HEIGHT + HEIGHT - 1 - i] = from[i * WIDTH + j];
                }
            }
        }
    }
}
fn main() {
    let mut image: Vec<u8> =
        (0..(WIDTH * HEIGHT) as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut other = vec![0; WIDTH * HEIGHT];
    let mut sum = 0u32;
    for _ in 0..2 {
        if VARIANT == "rows" {
            turn(&image, &mut other, HEIGHT, WIDTH);
        } else {
            turn(&image, &mut other, 64, 32);
        }
        image[77] ^= 1;
        sum = other.iter().step_by(61).fold(sum, |sum, &x| sum.wrapping_mul(31).wrapping_add(u32::from(x)));
    }
    println!("{sum}");
}
