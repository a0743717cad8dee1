//! Tasks on tokio's runtime of four threads, which hand numbers on through a channel and add up behind a lock.

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

async fn count(to: mpsc::Sender<u64>, seen: Arc<Mutex<u64>>, n: u64) {
    for i in 0..n {
        to.send(i * i).await.expect("a receiver");
        *seen.lock().expect("nobody panicked") += 1;
    }
}

async fn add(mut from: mpsc::Receiver<u64>) -> u64 {
    let mut sum = 0;
    while let Some(number) = from.recv().await {
        sum += number;
    }
    sum
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().expect("a runtime");
    let seen = Arc::new(Mutex::new(0));
    let sum = runtime.block_on(async {
        let (to, from) = mpsc::channel(8);
        let sum = tokio::spawn(add(from));
        let counts: Vec<_> = (1..5).map(|n| tokio::spawn(count(to.clone(), seen.clone(), n * 100))).collect();
        drop(to);
        for task in counts {
            task.await.expect("no panic");
        }
        sum.await.expect("no panic")
    });
    drop(runtime);
    println!("{sum} {}", seen.lock().expect("nobody panicked"));
}
