//! `sum` of floats as in Python since 3.12.

/// Sums with compensation of the rounding errors (Neumaier).
pub(crate) fn python_sum(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for number in numbers {
        let next = sum + number;
        lost += if sum.abs() >= number.abs() { (sum - next) + number } else { (number - next) + sum };
        sum = next;
    }
    if lost != 0.0 && lost.is_finite() { sum + lost } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounding_loses_comes_back() {
        assert_eq!(python_sum([0.1; 10]), 1.0);
        assert_eq!(python_sum([1e16, 1.0, -1e16]), 1.0);
        assert_eq!(python_sum([]), 0.0);
        assert_eq!(python_sum([f64::INFINITY, 1.0]), f64::INFINITY);
    }
}
