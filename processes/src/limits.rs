//! Limits of what a program may use.

use serde::Deserialize;

/// Processes and threads of a program unless its limits say: far more than agents need, and far fewer than a machine has.
pub(crate) const PROCESSES_MAX: u32 = 4096;

/// Limits of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Processor time of a process, in seconds.
    pub cpu_s: u32,
    /// Memory that a process may write to, in MiB.
    pub memory_mb: u32,
    /// Largest file it may write, in MiB.
    pub file_mb: u32,
    /// Files and connections that a process holds open.
    pub files: u32,
    /// Processes and threads of its user, all together. Of a program with a control group, that alone. When absent: 4,096 more than its user
    /// has at its start, since its user may run others, this process among them.
    pub processes: Option<u32>,
    /// Processors that a program with a control group keeps busy; all of them when absent.
    pub cpus: Option<Cpus>,
}

/// Number of processors, or a part of one: 0.01 to 1,024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Cpus {
    thousandths: u32,
}

impl Cpus {
    /// Thousandths of a processor.
    #[must_use]
    pub const fn thousandths(self) -> u32 {
        self.thousandths
    }

    /// Microseconds of processor time in a period of so many microseconds.
    pub(crate) fn of_period_us(self, period: u64) -> u64 {
        u64::from(self.thousandths) * period / 1000
    }
}

impl TryFrom<f64> for Cpus {
    type Error = String;

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is at most a million, and positive"
    )]
    fn try_from(cpus: f64) -> Result<Self, String> {
        match (0.01..=1024.0).contains(&cpus) {
            true => Ok(Self { thousandths: (cpus * 1000.0).round() as u32 }),
            false => Err(format!("cpus must be 0.01 to 1024, is {cpus}")),
        }
    }
}

impl std::fmt::Display for Cpus {
    /// As engines of containers take it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.thousandths / 1000, self.thousandths % 1000)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { cpu_s: 3600, memory_mb: 16 << 10, file_mb: 4 << 10, files: 4096, processes: None, cpus: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_in_thousandths() {
        assert_eq!(Cpus::try_from(1.5).unwrap().to_string(), "1.500");
        assert_eq!(Cpus::try_from(0.25).unwrap().of_period_us(100_000), 25_000);
        for bad in [0.0, -1.0, f64::NAN, 1e9] {
            assert!(Cpus::try_from(bad).is_err(), "{bad}");
        }
    }
}
