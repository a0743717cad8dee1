//! What a model refuses, and the checks that refuse it.
//!
//! Takes a quantity's name and value, gives the value back if the model can use it, else an [`InputError`] that names
//! the quantity and the value found.

use std::fmt::Display;

/// A figure or a set of figures that a model cannot use.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InputError {
    /// A rate, a capacity or a measured time that is 0, negative or NaN.
    #[error("{quantity} must be positive, is {value}")]
    NotPositive {
        /// Which figure.
        quantity: String,
        /// What it is.
        value: f64,
    },
    /// A count, a time or a price that is negative or NaN.
    #[error("{quantity} must not be negative, is {value}")]
    Negative {
        /// Which figure.
        quantity: String,
        /// What it is.
        value: f64,
    },
    /// A figure that is infinite or NaN.
    #[error("{quantity} must be finite, is {value}")]
    NotFinite {
        /// Which figure.
        quantity: String,
        /// What it is.
        value: f64,
    },
    /// A figure above what its meaning allows.
    #[error("{quantity} must be at most {limit}, is {value}")]
    TooLarge {
        /// Which figure.
        quantity: String,
        /// The most that it may be.
        limit: f64,
        /// What it is.
        value: f64,
    },
    /// A figure below what its meaning allows.
    #[error("{quantity} must be at least {limit}, is {value}")]
    TooSmall {
        /// Which figure.
        quantity: String,
        /// The least that it may be.
        limit: f64,
        /// What it is.
        value: f64,
    },
    /// More work arrives than is done, so that whoever waits waits longer and longer.
    #[error(
        "the load must be below 1, is {load}: the queue grows without end; more servers, a shorter service or fewer arrivals"
    )]
    Overloaded {
        /// Arrivals times service over servers.
        load: f64,
    },
    /// More bytes at once than there is room for.
    #[error("{needed} B are needed at once, and the memory has {memory} B")]
    Memory {
        /// Bytes that there are.
        memory: f64,
        /// What is needed.
        needed: f64,
    },
    /// A demand that no amount of what is asked for can meet.
    #[error("{quantity} of {value} cannot be reached: {reason}")]
    OutOfReach {
        /// Which figure.
        quantity: String,
        /// What it is.
        value: f64,
        /// Why.
        reason: String,
    },
    /// As many figures as another list has are needed.
    #[error("{quantity}: {needed} needed, {found} given")]
    Count {
        /// Which figure.
        quantity: String,
        /// What is needed.
        needed: usize,
        /// What was given.
        found: usize,
    },
    /// Nothing to work on.
    #[error("there are no {quantity}")]
    Empty {
        /// Which figure.
        quantity: String,
    },
    /// An operation that no backend may run.
    #[error("operation {operation} is allowed on no backend")]
    NotAllowed {
        /// Its place in the chain.
        operation: usize,
    },
}

/// A finite number above 0.
pub(crate) fn positive(quantity: impl Display, value: f64) -> Result<f64, InputError> {
    if value > 0.0 {
        finite(quantity, value)
    } else {
        Err(InputError::NotPositive { quantity: quantity.to_string(), value })
    }
}

/// A finite number that is 0 or above.
pub(crate) fn not_negative(quantity: impl Display, value: f64) -> Result<f64, InputError> {
    if value >= 0.0 {
        finite(quantity, value)
    } else {
        Err(InputError::Negative { quantity: quantity.to_string(), value })
    }
}

/// A finite number.
pub(crate) fn finite(quantity: impl Display, value: f64) -> Result<f64, InputError> {
    if value.is_finite() { Ok(value) } else { Err(InputError::NotFinite { quantity: quantity.to_string(), value }) }
}

/// A number that is not above `limit`.
pub(crate) fn at_most(quantity: impl Display, limit: f64, value: f64) -> Result<f64, InputError> {
    if value <= limit { Ok(value) } else { Err(InputError::TooLarge { quantity: quantity.to_string(), limit, value }) }
}

/// A number that is not below `limit`.
pub(crate) fn at_least(quantity: impl Display, limit: f64, value: f64) -> Result<f64, InputError> {
    if value >= limit { Ok(value) } else { Err(InputError::TooSmall { quantity: quantity.to_string(), limit, value }) }
}

/// A share of a peak: above 0 and at most 1. More than the peak means that the peak is wrong.
pub(crate) fn efficiency(value: f64) -> Result<f64, InputError> {
    at_most("efficiency", 1.0, positive("efficiency", value)?)
}

/// A whole number of things, at least one.
pub(crate) fn count(quantity: impl Display, value: u64) -> Result<f64, InputError> {
    at_least(quantity, 1.0, value as f64)
}

/// A list that has as many entries as another.
pub(crate) fn same_count(quantity: impl Display, needed: usize, found: usize) -> Result<(), InputError> {
    if needed == found { Ok(()) } else { Err(InputError::Count { quantity: quantity.to_string(), needed, found }) }
}

/// A list that has entries.
pub(crate) fn not_empty<T>(quantity: impl Display, list: &[T]) -> Result<(), InputError> {
    if list.is_empty() { Err(InputError::Empty { quantity: quantity.to_string() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_quantity_and_what_it_is() {
        let message = |result: Result<f64, InputError>| result.unwrap_err().to_string();
        assert_eq!(
            message(positive(format_args!("bandwidth of link {}", 1), 0.0)),
            "bandwidth of link 1 must be positive, is 0"
        );
        assert_eq!(message(positive("peak", f64::NAN)), "peak must be positive, is NaN");
        assert_eq!(message(positive("peak", f64::INFINITY)), "peak must be finite, is inf");
        assert_eq!(message(not_negative("work", -1.0)), "work must not be negative, is -1");
        assert_eq!(message(efficiency(1.5)), "efficiency must be at most 1, is 1.5");
        assert_eq!(message(at_least("cores", 1.0, 0.5)), "cores must be at least 1, is 0.5");
        assert_eq!(
            same_count("traffic per link", 3, 2).unwrap_err().to_string(),
            "traffic per link: 3 needed, 2 given"
        );
        assert_eq!(not_empty::<f64>("pairs", &[]).unwrap_err().to_string(), "there are no pairs");
        assert_eq!(InputError::NotAllowed { operation: 3 }.to_string(), "operation 3 is allowed on no backend");
    }
}
