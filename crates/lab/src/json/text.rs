//! Serialises a value as its text.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize as _, Deserializer, Serializer, de};

pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}
