//! JSON objects of events, written as bytes, member by member, with numbers as `perpetual.md` 1 has them: one event may go to many
//! connections. Knows no event.

use ringside_wire::decimal::{write_entry, write_fixed, write_i64, write_u64};

/// An object on its way. Keys, and texts but for those of [`Object::escaped`], need no escapes.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> Object<'a> {
    /// Begins one.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Object<'a> {
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

    /// A key; its value is written next.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    fn quoted(&mut self, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        let out = self.key(key);
        out.push(b'"');
        write(out);
        out.push(b'"');
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.quoted(key, |out| out.extend_from_slice(value.as_bytes()));
    }

    pub(super) fn escaped(&mut self, key: &str, value: &str) {
        ringside_wire::write(self.key(key), value);
    }

    pub(super) fn flag(&mut self, key: &str, value: bool) {
        let word: &[u8] = if value { b"true" } else { b"false" };
        self.key(key).extend_from_slice(word);
    }

    pub(super) fn number(&mut self, key: &str, value: i64) {
        write_i64(self.key(key), value);
    }

    pub(super) fn id(&mut self, key: &str, value: u64) {
        write_u64(self.key(key), value);
    }

    /// A number as text, empty for none.
    pub(super) fn digits(&mut self, key: &str, value: Option<u64>) {
        self.quoted(key, |out| value.into_iter().for_each(|value| write_u64(out, value)));
    }

    /// Steps of 10^-8, shortest form.
    pub(super) fn units(&mut self, key: &str, value: i64) {
        self.quoted(key, |out| write_entry(out, value));
    }

    /// Steps of 10^-8 with exactly so many decimals; what lies beyond is cut.
    pub(super) fn fixed(&mut self, key: &str, value: impl Into<i128>, decimals: usize) {
        let value = value.into();
        self.quoted(key, |out| write_fixed(out, value, decimals));
    }

    /// Micros with exactly 8 decimals.
    pub(super) fn money(&mut self, key: &str, micros: i64) {
        self.fixed(key, i128::from(micros) * 100, 8);
    }

    /// The same, `0` for none.
    pub(super) fn money_or_none(&mut self, key: &str, micros: i64) {
        if micros == 0 { self.text(key, "0") } else { self.money(key, micros) }
    }

    /// Steps of 10^-8 with exactly 8 decimals.
    pub(super) fn exact(&mut self, key: &str, value: i64) {
        self.fixed(key, value, 8);
    }

    pub(super) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        let mut object = Object::new(self.key(key));
        write(&mut object);
        object.end();
    }

    pub(super) fn list<T>(
        &mut self,
        key: &str,
        rows: impl Iterator<Item = T>,
        write: impl Fn(&mut Object<'_>, T),
    ) {
        let out = self.key(key);
        out.push(b'[');
        for (number, row) in rows.enumerate() {
            if number > 0 {
                out.push(b',');
            }
            let mut object = Object::new(out);
            write(&mut object, row);
            object.end();
        }
        out.push(b']');
    }
}
