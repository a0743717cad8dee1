//! The processed profile of the Firefox Profiler, compressed with gzip.
//!
//! Takes stacks, gives one track per metric with one weighted sample per stack. Samples are a millisecond apart, since
//! the format wants times. Lines are left out: the crate that writes the format has frames by name only. It also holds
//! weights of 32 bits, so the exact weights are put in their place in its JSON.

use std::io::{self, Write};
use std::time::SystemTime;

use flate2::{Compression, GzBuilder};
use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame as FxFrame, FrameFlags, FrameInfo, ProcessHandle, Profile, SamplingInterval,
    StringHandle, Timestamp, WeightType,
};
use serde_json::Value;

use super::columns::{Columns, title};
use super::stacks::{Stack, Stacks};

pub fn write(stacks: &Stacks, out: &mut impl Write) -> io::Result<()> {
    let columns = Columns::for_stacks(stacks);
    let mut profile = Profile::new("dmdprof", SystemTime::UNIX_EPOCH.into(), SamplingInterval::from_millis(1));
    let process = profile.add_process(&title(stacks.profile), 1, timestamp_of(0));
    let names: Vec<StringHandle> = stacks.functions.iter().map(|f| profile.intern_string(&f.name)).collect();
    for (metric, name) in columns.names.iter().enumerate() {
        track(stacks, metric, name, &names, &mut profile, process);
    }
    let mut json = serde_json::to_value(&profile)?;
    for metric in 0..stacks.metrics.len() {
        json["threads"][metric]["samples"]["weight"] = weights(stacks, &columns, metric);
    }
    let mut gzip = GzBuilder::new().mtime(0).write(out, Compression::default());
    serde_json::to_writer(&mut gzip, &json)?;
    gzip.finish()?;
    Ok(())
}

fn timestamp_of(sample: usize) -> Timestamp {
    Timestamp::from_millis_since_reference(sample as f64)
}

/// The stacks that a metric's track shows, in their order.
fn shown<'s>(stacks: &'s Stacks, metric: usize) -> impl Iterator<Item = &'s Stack> {
    stacks.list.iter().filter(move |stack| stack.values[metric] > 0)
}

fn track(
    stacks: &Stacks,
    metric: usize,
    name: &str,
    names: &[StringHandle],
    profile: &mut Profile,
    process: ProcessHandle,
) {
    let thread = profile.add_thread(process, metric as u32 + 1, timestamp_of(0), metric == 0);
    profile.set_thread_name(thread, name);
    let kind = if stacks.metrics[metric].is_bytes() { WeightType::Bytes } else { WeightType::Samples };
    profile.set_thread_samples_weight_type(thread, kind);
    profile.add_initial_visible_thread(thread);
    for (sample, stack) in shown(stacks, metric).enumerate() {
        let frames = stack.frames.iter().map(|frame| FrameInfo {
            frame: FxFrame::Label(names[frame.function]),
            category_pair: CategoryHandle::OTHER.into(),
            flags: FrameFlags::empty(),
        });
        let handle = profile.intern_stack_frames(thread, frames);
        profile.add_sample(thread, timestamp_of(sample), handle, CpuDelta::ZERO, 1);
    }
}

fn weights(stacks: &Stacks, columns: &Columns, metric: usize) -> Value {
    shown(stacks, metric).map(|stack| Value::from(columns.scales[metric].apply(stack.values[metric]))).collect()
}
