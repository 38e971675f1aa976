//! Whole numbers of any size, as slow and as plain as on paper.

/// Digits in base 2³², the lowest first, none of them a leading zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Natural(Vec<u32>);

impl From<u64> for Natural {
    fn from(number: u64) -> Self {
        Self(vec![number as u32, (number >> 32) as u32]).trimmed()
    }
}

impl Natural {
    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut digits = Vec::new();
        let mut carry = 0;
        for i in 0..self.0.len().max(other.0.len()) {
            let digit = |number: &Self| u64::from(number.0.get(i).copied().unwrap_or(0));
            let sum = digit(self) + digit(other) + carry;
            digits.push(sum as u32);
            carry = sum >> 32;
        }
        digits.push(carry as u32);
        Self(digits).trimmed()
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        let mut digits = vec![0u32; self.0.len() + other.0.len()];
        for (i, a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (j, b) in other.0.iter().enumerate() {
                let sum = u64::from(*a) * u64::from(*b) + u64::from(digits[i + j]) + carry;
                digits[i + j] = sum as u32;
                carry = sum >> 32;
            }
            digits[i + other.0.len()] = carry as u32;
        }
        Self(digits).trimmed()
    }

    /// The quotient, and whether anything is left over.
    pub(crate) fn divided_by(mut self, divisor: u32) -> (Self, bool) {
        let mut rest = 0;
        for digit in self.0.iter_mut().rev() {
            let dividend = rest << 32 | u64::from(*digit);
            *digit = (dividend / u64::from(divisor)) as u32;
            rest = dividend % u64::from(divisor);
        }
        (self.trimmed(), rest > 0)
    }

    pub(crate) fn digits(&self) -> usize {
        self.0.len()
    }

    /// Times 2^(32 · `digits`).
    pub(crate) fn raised(mut self, digits: usize) -> Self {
        self.0.splice(0..0, std::iter::repeat_n(0, digits));
        self.trimmed()
    }

    /// Over 2^(32 · `digits`), and whether anything is left over.
    pub(crate) fn lowered(mut self, digits: usize) -> (Self, bool) {
        let lost = self.0.drain(..digits.min(self.0.len())).any(|digit| digit > 0);
        (self, lost)
    }

    /// 2⁶⁴ − 1 where it is more.
    pub(crate) fn saturated(&self) -> u64 {
        match self.0[..] {
            [] => 0,
            [low] => low.into(),
            [low, high] => u64::from(high) << 32 | u64::from(low),
            _ => u64::MAX,
        }
    }
}
