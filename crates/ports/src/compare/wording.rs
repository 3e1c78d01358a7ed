//! Formats numbers and counts.

/// A share with two digits: "3.1%", "0.033%".
pub(super) fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    match share {
        _ if part == whole => "100%".to_owned(),
        0.0 => "0%".to_owned(),
        share if share >= 99.5 => format!("{share:.2}%"),
        share if share >= 10.0 => format!("{share:.0}%"),
        share => format!("{share:.*}%", (1.0 - share.log10().floor()) as usize),
    }
}

/// 1234567 as `1 234 567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

pub(super) fn plural(name: &str) -> String {
    match name {
        "axis" => "axes".to_owned(),
        "chirality" => "chiralities".to_owned(),
        // The rows h0 and h1.
        "h" => "rows h".to_owned(),
        name => format!("{name}s"),
    }
}

/// "1 site", "512 sites"
pub(crate) fn counted(number: u64, name: &str) -> String {
    match number {
        1 => format!("1 {name}"),
        number => format!("{} {}", grouped(number), plural(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits_and_no_exponent() {
        let said = [(1, 3072), (1, 64), (1, 8), (1, 1_000_000), (999, 1000), (3, 3), (0, 5)];
        let expected = ["0.033%", "1.6%", "12%", "0.00010%", "99.90%", "100%", "0%"];
        assert_eq!(said.map(|(part, whole)| percent(part, whole)), expected);
    }

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([1, 2].map(|number| counted(number, "axis")), ["1 axis", "2 axes"]);
        assert_eq!(counted(12_288, "site"), "12 288 sites");
    }
}
