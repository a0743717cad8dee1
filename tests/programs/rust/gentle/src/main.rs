//! Tasks on tokio's current-thread runtime, which hand numbers on through channels.

use tokio::sync::mpsc;

async fn count(to: mpsc::Sender<u64>, n: u64) {
    for i in 0..n {
        to.send(i * i).await.expect("a receiver");
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
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let sum = runtime.block_on(async {
        let (to, from) = mpsc::channel(8);
        let sum = tokio::spawn(add(from));
        let counts: Vec<_> = (1..5).map(|n| tokio::spawn(count(to.clone(), n * 100))).collect();
        drop(to);
        for task in counts {
            task.await.expect("no panic");
        }
        sum.await.expect("no panic")
    });
    println!("{sum}");
}
