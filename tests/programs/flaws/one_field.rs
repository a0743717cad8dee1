//! Particles of 64 bytes, of which one loop reads the mass only.

struct Particle {
    position: [f64; 3],
    velocity: [f64; 3],
    charge: f64,
    mass: f64,
}

const N: usize = 20_000;

#[inline(never)]
fn fill() -> Vec<Particle> {
    let mut particles = Vec::with_capacity(N);
    for i in 0..N {
        let at = std::array::from_fn(|d| (d * i) as f64);
        particles.push(Particle { position: at, velocity: at, charge: (i & 1) as f64, mass: i as f64 });
    }
    particles
}

#[inline(never)]
fn mass(particles: &[Particle]) -> f64 {
    let mut sum = 0.0;
    for particle in particles {
        sum += particle.mass; // flaw: pack
    }
    sum
}

fn main() {
    let particles = fill();
    let mut sum = 0.0;
    for _ in 0..10 {
        sum += mass(std::hint::black_box(&particles));
    }
    println!("{sum}");
    // What nobody reads, the compiler would leave out.
    let last = std::hint::black_box(&particles[N - 1]);
    std::hint::black_box((last.position, last.velocity, last.charge));
}
