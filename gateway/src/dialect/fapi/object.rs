//! JSON objects written as bytes, member by member, with numbers as `perpetual.md` 1 has them: for what orders wait for and for
//! what goes to many. Knows no event and no order.

use ringside_wire::decimal::{write_entry, write_fixed, write_i64, write_u64};

/// An object on its way. Keys, and texts but for those of [`Object::escaped`], need no escapes.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl Object<'_> {
    /// Begins one.
    pub(super) fn new(out: &mut Vec<u8>) -> Object<'_> {
        out.push(b'{');
        Object { out, is_empty: true }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    /// What every event begins with.
    pub(super) fn begin(&mut self, name: &str, now_ms: i64, time_ms: Option<i64>) {
        self.text("e", name);
        self.number("E", now_ms);
        if let Some(time_ms) = time_ms {
            self.number("T", time_ms);
        }
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.out.push(b'"');
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(b'"');
    }

    pub(super) fn escaped(&mut self, key: &str, value: &str) {
        self.key(key);
        // Strings always have a JSON form.
        self.out.extend_from_slice(serde_json::to_string(value).unwrap_or_default().as_bytes());
    }

    pub(super) fn flag(&mut self, key: &str, value: bool) {
        self.key(key);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    pub(super) fn number(&mut self, key: &str, value: i64) {
        self.key(key);
        write_i64(self.out, value);
    }

    pub(super) fn id(&mut self, key: &str, value: u64) {
        self.key(key);
        write_u64(self.out, value);
    }

    /// A number as text, empty for none.
    pub(super) fn digits(&mut self, key: &str, value: Option<u64>) {
        self.key(key);
        self.out.push(b'"');
        if let Some(value) = value {
            write_u64(self.out, value);
        }
        self.out.push(b'"');
    }

    /// Steps of 10^-8, shortest form.
    pub(super) fn units(&mut self, key: &str, value: i64) {
        self.key(key);
        self.out.push(b'"');
        write_entry(self.out, value);
        self.out.push(b'"');
    }

    /// Micros with exactly 8 decimals.
    pub(super) fn money(&mut self, key: &str, micros: i64) {
        self.key(key);
        self.out.push(b'"');
        write_fixed(self.out, i128::from(micros) * 100, 8);
        self.out.push(b'"');
    }

    /// The same, `0` for none.
    pub(super) fn money_or_none(&mut self, key: &str, micros: i64) {
        if micros == 0 { self.text(key, "0") } else { self.money(key, micros) }
    }

    /// Steps of 10^-8 with exactly 8 decimals.
    pub(super) fn exact(&mut self, key: &str, value: i64) {
        self.key(key);
        self.out.push(b'"');
        write_fixed(self.out, value.into(), 8);
        self.out.push(b'"');
    }

    pub(super) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        let mut object = Object::new(self.out);
        write(&mut object);
        object.end();
    }

    pub(super) fn list<T>(
        &mut self,
        key: &str,
        rows: impl Iterator<Item = T>,
        write: impl Fn(&mut Object<'_>, T),
    ) {
        self.key(key);
        self.out.push(b'[');
        for (number, row) in rows.enumerate() {
            if number > 0 {
                self.out.push(b',');
            }
            let mut object = Object::new(self.out);
            write(&mut object, row);
            object.end();
        }
        self.out.push(b']');
    }
}
