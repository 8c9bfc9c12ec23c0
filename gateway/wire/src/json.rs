//! Writes a value as JSON, byte for byte as `serde_json` does: what an order costs is mostly names and numbers, which this writes
//! without looking for what has to be escaped. What only `serde_json` knows how to read back, its `RawValue`, has no place in what is
//! written here.

use serde::ser::{
    self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::fmt::Display;

/// Name of a newtype struct around text without anything that JSON escapes: other writers write it like any text.
pub(crate) const PLAIN: &str = "plain";

/// Appends a value as JSON.
#[inline]
pub fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let Ok(()) = value.serialize(Json { out, is_plain: false });
}

/// A value as JSON.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    write(&mut out, value);
    out
}

/// No value of this crate refuses to be written, and a vector takes everything.
#[derive(Debug)]
enum Never {}

impl Display for Never {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

impl ser::Error for Never {
    fn custom<T: Display>(message: T) -> Never {
        unreachable!("a value refuses to be written: {message}")
    }
}

type Done = Result<(), Never>;

/// Where the next value goes.
struct Json<'a> {
    out: &'a mut Vec<u8>,
    /// Whether a text that comes is known to need no escape.
    is_plain: bool,
}

impl Json<'_> {
    #[inline]
    fn integer(self, value: impl itoa::Integer) {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    /// A value that the library writes.
    fn by_library<T: Serialize + ?Sized>(self, value: &T) -> Done {
        // A vector takes everything.
        let _ = serde_json::to_writer(self.out, value);
        Ok(())
    }
}

/// The members of an object or the items of an array.
struct Within<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
    end: &'static [u8],
}

impl<'a> Within<'a> {
    #[inline]
    fn of(out: &'a mut Vec<u8>, begin: u8, end: &'static [u8]) -> Within<'a> {
        out.push(begin);
        Within { out, is_first: true, end }
    }

    /// The same as the only member of an object.
    fn named(out: &'a mut Vec<u8>, name: &'static str, begin: u8, end: &'static [u8]) -> Within<'a> {
        out.push(b'{');
        put_name(out, name, true);
        Within::of(out, begin, end)
    }

    #[inline]
    fn next(&mut self) -> Json<'_> {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        self.value()
    }

    #[inline]
    fn value(&mut self) -> Json<'_> {
        Json { out: &mut *self.out, is_plain: false }
    }

    #[inline]
    fn close(self) -> Done {
        self.out.extend_from_slice(self.end);
        Ok(())
    }
}

/// Appends the name of a member, which a struct of the program gives and which needs no escape.
#[inline]
fn put_name(out: &mut Vec<u8>, name: &'static str, is_first: bool) {
    out.extend_from_slice(if is_first { b"\"" } else { b",\"" });
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

macro_rules! values {
    ($($name:ident($value:ident: $kind:ty) => |$json:ident| $write:expr;)*) => {$(
        #[inline]
        fn $name(self, $value: $kind) -> Done {
            let $json = self;
            $write;
            Ok(())
        }
    )*};
}

impl<'a> Serializer for Json<'a> {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = Within<'a>;
    type SerializeTuple = Within<'a>;
    type SerializeTupleStruct = Within<'a>;
    type SerializeTupleVariant = Within<'a>;
    type SerializeMap = Within<'a>;
    type SerializeStruct = Within<'a>;
    type SerializeStructVariant = Within<'a>;

    values! {
        serialize_bool(value: bool) => |json| json.out.extend_from_slice(if value { b"true" } else { b"false" });
        serialize_i8(value: i8) => |json| json.integer(value);
        serialize_i16(value: i16) => |json| json.integer(value);
        serialize_i32(value: i32) => |json| json.integer(value);
        serialize_i64(value: i64) => |json| json.integer(value);
        serialize_i128(value: i128) => |json| json.integer(value);
        serialize_u8(value: u8) => |json| json.integer(value);
        serialize_u16(value: u16) => |json| json.integer(value);
        serialize_u32(value: u32) => |json| json.integer(value);
        serialize_u64(value: u64) => |json| json.integer(value);
        serialize_u128(value: u128) => |json| json.integer(value);
        serialize_f32(value: f32) => |json| json.by_library(&value)?;
        serialize_f64(value: f64) => |json| json.by_library(&value)?;
        serialize_char(value: char) => |json| json.by_library(&value)?;
        serialize_bytes(value: &[u8]) => |json| json.by_library(value)?;
        serialize_unit_struct(_name: &'static str) => |json| json.out.extend_from_slice(b"null");
    }

    #[inline]
    fn serialize_str(self, text: &str) -> Done {
        if !self.is_plain && !text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
            return self.by_library(text);
        }
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
        Ok(())
    }

    #[inline]
    fn serialize_unit(self) -> Done {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Done {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Done {
        value.serialize(Json { is_plain: name == PLAIN, ..self })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        let mut object = Within::of(self.out, b'{', b"}");
        SerializeStruct::serialize_field(&mut object, variant, value)?;
        object.close()
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Within<'a>, Never> {
        Ok(Within::of(self.out, b'[', b"]"))
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Within<'a>, Never> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Within<'a>, Never> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Within<'a>, Never> {
        Ok(Within::named(self.out, variant, b'[', b"]}"))
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Within<'a>, Never> {
        Ok(Within::of(self.out, b'{', b"}"))
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Within<'a>, Never> {
        Ok(Within::of(self.out, b'{', b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Within<'a>, Never> {
        Ok(Within::named(self.out, variant, b'{', b"}}"))
    }
}

macro_rules! items {
    ($($kind:ident::$item:ident),*) => {$(
        impl $kind for Within<'_> {
            type Ok = ();
            type Error = Never;

            #[inline]
            fn $item<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
                value.serialize(self.next())
            }

            #[inline]
            fn end(self) -> Done {
                self.close()
            }
        }
    )*};
}

items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! members {
    ($($kind:ident),*) => {$(
        impl $kind for Within<'_> {
            type Ok = ();
            type Error = Never;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Done {
                put_name(self.out, name, std::mem::take(&mut self.is_first));
                value.serialize(self.value())
            }

            #[inline]
            fn end(self) -> Done {
                self.close()
            }
        }
    )*};
}

members!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Within<'_> {
    type Ok = ();
    type Error = Never;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        let key_at = self.out.len() + usize::from(!self.is_first);
        key.serialize(self.next())?;
        // A number as a key is text.
        if self.out[key_at] != b'"' {
            self.out.insert(key_at, b'"');
            self.out.push(b'"');
        }
        self.out.push(b':');
        Ok(())
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(self.value())
    }

    #[inline]
    fn end(self) -> Done {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::Value;
    use std::collections::BTreeMap;

    #[track_caller]
    fn is_as_the_library_writes<T: Serialize + ?Sized>(value: &T) {
        let written = String::from_utf8(to_vec(value)).expect("text");
        assert_eq!(written, serde_json::to_string(value).expect("written"));
    }

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Pair(u8, i128);

    #[derive(Serialize)]
    #[serde(rename = "plain")]
    struct Word(&'static str);

    #[derive(Serialize)]
    enum Kind {
        Unit,
        Newtype(Option<Word>),
        Tuple(u16, &'static str),
        Struct { a: char, b: () },
    }

    #[derive(Serialize)]
    #[serde(tag = "e")]
    enum Tagged {
        Inner(Outer),
    }

    #[derive(Serialize)]
    struct Outer {
        a_name_that_is_longer_than_any_that_a_client_has_to_know: bool,
        #[serde(flatten)]
        inner: Inner,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
        null: Option<u8>,
    }

    #[derive(Serialize)]
    struct Inner {
        by_number: BTreeMap<i32, [f64; 2]>,
        by_name: BTreeMap<String, Vec<Kind>>,
        empty: (Vec<u8>, BTreeMap<u8, u8>),
        bytes: Bytes,
    }

    /// Bytes that are handed over as such.
    struct Bytes([u8; 3]);

    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&self.0)
        }
    }

    #[test]
    fn every_kind_of_value_is_as_the_library_writes_it() {
        let kinds = vec![
            Kind::Unit,
            Kind::Newtype(Some(Word("BUY"))),
            Kind::Newtype(None),
            Kind::Tuple(7, "a\"\\\n\u{1}\u{7f}é"),
            Kind::Struct { a: '"', b: () },
        ];
        let inner = Inner {
            by_number: BTreeMap::from([(-1, [0.1, 1e300]), (2, [f64::NAN, -0.0])]),
            by_name: BTreeMap::from([("a\tb".to_owned(), kinds)]),
            empty: (Vec::new(), BTreeMap::new()),
            bytes: Bytes([0, 1, 255]),
        };
        let outer = Outer {
            a_name_that_is_longer_than_any_that_a_client_has_to_know: true,
            inner,
            absent: None,
            null: None,
        };
        is_as_the_library_writes(&Tagged::Inner(outer));
        is_as_the_library_writes(&(Unit, Pair(255, i128::MIN), u128::MAX, i64::MIN, u64::MAX, 1.5f32));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_as_the_library_writes_it(value in values()) {
            is_as_the_library_writes(&value);
        }
    }
}
