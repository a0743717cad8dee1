// variants: structures arrays
#[derive(Clone, Default)]
struct Particle {
    x: f32,
    velocity: f32,
    name: [u32; 14],
}

fn main() {
    const N: usize = 200_000;
    const STEPS: usize = 12;
    if VARIANT == "structures" {
        let mut all = vec![Particle::default(); N];
        for (i, p) in all.iter_mut().enumerate() {
            p.velocity = (i % 4) as f32;
            p.name[0] = i as u32;
        }
        for _ in 0..STEPS {
            for p in &mut all {
                p.x += p.velocity;
            }
        }
        println!("{}", all.iter().map(|p| f64::from(p.x)).sum::<f64>());
    } else {
        let mut x = vec![0f32; N];
        let velocity: Vec<f32> = (0..N).map(|i| (i % 4) as f32).collect();
        for _ in 0..STEPS {
            for (x, v) in x.iter_mut().zip(&velocity) {
                *x += v;
            }
        }
        println!("{}", x.iter().map(|x| f64::from(*x)).sum::<f64>());
    }
}
