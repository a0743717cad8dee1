//! Inputs that several questions ask for in the same words: described here once, named in each question's list.

use super::input::{Default, Input};
use super::unit::{Allowed, Unit};

pub const BANDWIDTH: Input = Input::new(
    "bandwidth",
    Unit::BytesPerSecond,
    Allowed::Positive,
    Default::Known("bandwidth"),
    "bandwidth of memory",
);

pub const MEMORY: Input =
    Input::new("memory", Unit::Bytes, Allowed::Positive, Default::Perhaps("memory"), "memory of a device");

pub const RATE: Input =
    Input::new("rate", Unit::OpsPerSecond, Allowed::Positive, Default::Known("rate"), "sustained rate of operations");

pub const LINK: Input = Input::new(
    "link",
    Unit::BytesPerSecond,
    Allowed::Positive,
    Default::Optional,
    "bandwidth between devices, one direction",
);

pub const LATENCY: Input = Input::new(
    "latency",
    Unit::Seconds,
    Allowed::NotNegative,
    Default::Assumed(5e-6, "mlsysim's between nodes"),
    "latency of a step of an exchange",
);
