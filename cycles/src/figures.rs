//! The numbers of a core: what a machine file says under `[core]`.
//!
//! One list ([`Figures::ALL`]) has each number's name and meaning; files, documents and the core go by it. Times are in
//! cycles of the core, sizes in what their meaning says.

/// Declares the numbers once: as fields, and as a list by name.
macro_rules! figures {
    ($($(#[doc = $meaning:literal])+ $name:ident,)+) => {
        /// Numbers of a core.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Figures {
            $($(#[doc = $meaning])+ pub $name: u64,)+
        }

        impl Figures {
            /// Name, meaning, and place of each.
            pub const ALL: &'static [Figure] = &[$(Figure {
                name: stringify!($name),
                meaning: concat!($($meaning),+).trim_ascii(),
                of: |figures| &mut figures.$name,
            },)+];
        }
    };
}

/// Raised when equal figures give other cycles than before.
const RULES: u64 = 4;

impl Figures {
    /// What has the same hash gives the same cycles: FNV-1a of all numbers, and of the rules that this crate goes by.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut figures = self.clone();
        let numbers = Self::ALL.iter().map(|figure| *(figure.of)(&mut figures)).chain([RULES]);
        let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    }
}

/// One number of a core.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// As in files.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Where it is kept.
    pub of: fn(&mut Figures) -> &mut u64,
}

figures! {
    /// Frequency in MHz, for times.
    frequency,
    /// Operations that are dispatched per cycle.
    dispatch,
    /// Instructions that retire per cycle.
    retire,
    /// Operations in flight.
    window,
    /// Operations that wait for their operands.
    scheduler,
    /// Loads in flight.
    load_queue,
    /// Stores in flight.
    store_queue,
    /// From a mispredicted branch to the first operation behind it.
    refill,
    /// Units for simple operations on integers.
    alu_ports,
    /// Units that multiply integers.
    multiply_ports,
    /// Units that divide integers.
    divide_ports,
    /// Units that add floating-point numbers.
    float_add_ports,
    /// Units that multiply them, and multiply and add.
    float_multiply_ports,
    /// Units that divide them.
    float_divide_ports,
    /// Units for simple operations on vectors.
    vector_ports,
    /// Units that move elements within vectors.
    shuffle_ports,
    /// Loads per cycle.
    load_ports,
    /// Stores per cycle.
    store_ports,
    /// Branches per cycle.
    branch_ports,
    /// Latency of a multiplication of integers.
    multiply,
    /// Of an address of three parts, computed by `lea`.
    address,
    /// Of counting zeros or finding a bit.
    scan,
    /// Of a division of 32 bits.
    divide_32,
    /// How long that keeps the unit.
    divide_32_busy,
    /// Of a division of 64 bits.
    divide_64,
    /// How long that keeps the unit.
    divide_64_busy,
    /// Of an addition of floating-point numbers.
    float_add,
    /// Of their multiplication.
    float_multiply,
    /// Of multiplying and adding.
    fused,
    /// Of comparing into flags.
    float_compare,
    /// Of a conversion.
    convert,
    /// Of a conversion from or to an integer register.
    convert_integer,
    /// Of a division of single precision.
    float_divide_32,
    /// How long that keeps the unit.
    float_divide_32_busy,
    /// Of a division of double precision.
    float_divide_64,
    /// How long that keeps the unit.
    float_divide_64_busy,
    /// Of a square root of single precision.
    root_32,
    /// How long that keeps the unit.
    root_32_busy,
    /// Of a square root of double precision.
    root_64,
    /// How long that keeps the unit.
    root_64_busy,
    /// Of an operation of the x87 unit.
    x87,
    /// Of moving elements across lanes.
    cross_lane,
    /// Of moving from a vector to an integer register or back.
    to_integer,
    /// Of an atomic operation.
    locked,
    /// KiB of the first level.
    l1_kib,
    /// Its ways.
    l1_ways,
    /// Its latency.
    l1,
    /// More of it for vectors and floating-point numbers.
    l1_vector,
    /// From a store's value to a load of it, while the store is in flight.
    forward,
    /// The same of vectors and floating-point numbers.
    forward_vector,
    /// The same of a load that reads the same number of stores before it each time.
    forward_known,
    /// From when a store is written to a load of it and of other bytes.
    forward_failed,
    /// KiB of the second level.
    l2_kib,
    /// Its ways.
    l2_ways,
    /// Its latency.
    l2,
    /// Cycles per line that it gives.
    l2_gap,
    /// KiB of the last level that one core can fill.
    l3_kib,
    /// Its ways.
    l3_ways,
    /// Its latency.
    l3,
    /// Cycles per line that it gives.
    l3_gap,
    /// Latency of the memory.
    memory,
    /// Cycles per line that the memory gives to one core.
    memory_gap,
    /// Lines that are under way from behind the second level.
    misses,
    /// Lines that a prefetcher runs ahead.
    prefetch_depth,
    /// Pages whose translation the first level has.
    tlb1_entries,
    /// The second level.
    tlb2_entries,
    /// Its ways.
    tlb2_ways,
    /// Its latency.
    tlb2,
    /// Most that a walk of the page table takes.
    walk,
    /// Cycles per walk that are under way together.
    walk_gap,
    /// Bytes of a page.
    page,
    /// What the system takes to give a page on its first use. A huge one, of 512 of them, takes as long as writing all
    /// of it on top.
    page_fault,
    /// Memory without a file that has huge pages: 0 none, 1 what asks for them, 2 all.
    huge_pages,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A core for tests, with round numbers.
    pub(crate) fn round() -> Figures {
        let mut figures = Figures::default();
        for figure in Figures::ALL {
            let value = match figure.name {
                "frequency" => 3000,
                "dispatch" | "retire" => 4,
                "window" => 200,
                "scheduler" => 100,
                "load_queue" | "store_queue" => 64,
                "refill" => 15,
                "alu_ports" | "vector_ports" => 4,
                "load_ports" | "branch_ports" | "float_add_ports" | "float_multiply_ports" => 2,
                "l1_kib" => 32,
                "l1_ways" | "l2_ways" | "tlb2_ways" => 8,
                "l1" => 4,
                "l2_kib" => 512,
                "l2" => 12,
                "l3_kib" => 4096,
                "l3_ways" => 16,
                "l3" => 50,
                "memory" => 300,
                "memory_gap" => 10,
                "misses" => 16,
                "prefetch_depth" => 32,
                "tlb1_entries" => 64,
                "tlb2_entries" => 2048,
                "tlb2" => 7,
                "walk" => 60,
                "walk_gap" => 10,
                "page" => 4096,
                "page_fault" => 2000,
                "float_add" | "float_multiply" | "fused" | "multiply" => 3,
                "forward" => 7,
                "forward_known" => 5,
                "forward_vector" => 9,
                "forward_failed" => 12,
                "divide_64" => 20,
                "divide_64_busy" => 10,
                _ => 1,
            };
            *(figure.of)(&mut figures) = value;
        }
        figures
    }

    #[test]
    fn each_number_has_a_name_and_a_place_of_its_own() {
        let mut figures = Figures::default();
        for (value, figure) in (1..).zip(Figures::ALL) {
            *(figure.of)(&mut figures) = value;
            assert!(!figure.meaning.is_empty(), "{}", figure.name);
        }
        for (value, figure) in (1..).zip(Figures::ALL) {
            assert_eq!(*(figure.of)(&mut figures), value, "{}", figure.name);
        }
    }
}
