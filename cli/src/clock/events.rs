//! Samples by events of the kernel (`perf_event_open`): its clock interrupts the program, threads and processes that it
//! starts included, wherever it is in user space.
//!
//! Takes nothing but the moment at which the program is started, by the thread that opened the events: it inherits them
//! and they begin when it becomes the program. Gives mapped files and samples in the order in which they happened.
//! Refuses where the kernel does.

use std::io;

use perf_event::{Builder, SampleFlag, Sampler, data::Record, events::Software};

use super::processes::{Mapping, Processes};

/// Samples per second of processor time. One costs about 15 microseconds in a virtual machine: these are 5 % of the
/// time, where the most that kernels give were half of it.
const RATE: u64 = 4000;
/// Of one processor: half a second and more.
const BUFFER: usize = 128 << 10;
/// The kernel's `PERF_RECORD_MISC_COMM_EXEC`.
const BECOMES_PROGRAM: u16 = 1 << 13;

/// What happened.
enum Event {
    BecameProgram { process: u32 },
    Forked { from: u32, process: u32 },
    Mapped { process: u32, mapping: Mapping },
    Sample { process: u32, address: u64 },
}

/// Events of one run.
pub struct Events {
    /// Of each processor: the kernel has no buffer for what moves between them.
    samplers: Vec<Sampler>,
    /// With their times: another processor may still tell of something before them.
    waiting: Vec<(u64, Event)>,
    /// The last time of which all processors were asked.
    known: u64,
}

impl Events {
    /// Has the next process that this thread starts sampled, from this part of 1 of a period on.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn open(phase: f64) -> io::Result<Self> {
        let period = period(phase);
        let samplers = processors()?.into_iter().map(|number| open(number, period)).collect::<io::Result<_>>()?;
        Ok(Self { samplers, waiting: Vec::new(), known: 0 })
    }

    /// Tells of what has happened; of all, once the program has ended.
    pub fn take(&mut self, to: &mut Processes, has_ended: bool) {
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                match read(&record) {
                    Ok(Some(event)) => self.waiting.push(event),
                    Ok(None) => {}
                    Err(lost) => to.lost += lost,
                }
            }
        }
        self.waiting.sort_by_key(|(time, _)| *time);
        let now = if has_ended { u64::MAX } else { self.known };
        let ready = self.waiting.partition_point(|(time, _)| *time <= now);
        self.known = self.waiting.last().map_or(self.known, |(time, _)| *time);
        for (_, event) in self.waiting.drain(..ready) {
            match event {
                Event::BecameProgram { process } => to.becomes_program(process),
                Event::Forked { from, process } => to.forks(from, process),
                Event::Mapped { process, mapping } => to.maps(process, mapping),
                Event::Sample { process, address } => to.samples_at(process, address),
            }
        }
    }
}

fn open(processor: usize, period: u64) -> io::Result<Sampler> {
    let mut builder = Builder::new(Software::CPU_CLOCK);
    builder.observe_self().one_cpu(processor).inherit(true).enable_on_exec(true);
    builder.exclude_kernel(true).exclude_hv(true).sample_period(period);
    builder.sample(SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME).sample_id_all(true);
    builder.task(true).comm(true).comm_exec(true).mmap(true).mmap2(true);
    builder.build()?.sampled(BUFFER)
}

/// Nanoseconds between samples. The first comes after one of them, so that they differ from run to run, by so much that
/// the second of one run comes when the first of another does.
fn period(phase: f64) -> u64 {
    let most = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    let most = most.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(RATE);
    let usual = 1e9 / RATE.min(most).max(1) as f64;
    (usual * (2.0 + 2.0 * phase) / 3.0) as u64
}

/// Numbers of processors, as in `0-3,8`.
fn processors() -> io::Result<Vec<usize>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let parts = text.trim().split(',').map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Ok::<_, std::num::ParseIntError>(first.parse()?..=last.parse::<usize>()?)
    });
    let ranges = parts.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    Ok(ranges.into_iter().flatten().collect())
}

/// What a record says and when it happened, or how many samples it says are lost.
fn read(record: &perf_event::Record<'_>) -> Result<Option<(u64, Event)>, u64> {
    // Of all but samples the last word is the time.
    let time = || record.to_contiguous().last_chunk().map(|bytes| u64::from_le_bytes(*bytes)).ok_or(0u64);
    let event = match record.parse_record().map_err(|_| 1u64)? {
        Record::Sample(sample) => {
            let (Some(time), Some(process), Some(address)) = (sample.time(), sample.pid(), sample.ip()) else {
                return Err(1);
            };
            return Ok(Some((time, Event::Sample { process, address })));
        }
        Record::Mmap2(map) => {
            let mapping =
                Mapping { start: map.addr, bytes: map.len, offset: map.pgoff, file: map.filename_os().into() };
            Event::Mapped { process: map.pid, mapping }
        }
        Record::Comm(comm) if record.misc() & BECOMES_PROGRAM != 0 => Event::BecameProgram { process: comm.pid },
        // Of threads it says the process that they are in.
        Record::Fork(fork) if fork.pid != fork.ppid => Event::Forked { from: fork.ppid, process: fork.pid },
        Record::Lost(lost) => return Err(lost.lost),
        Record::LostSamples(lost) => return Err(lost.lost),
        _ => return Ok(None),
    };
    Ok(Some((time()?, event)))
}
