//! The words in which a row describes its parameters and bodies; the OpenAPI document is made of them.

use ringside_wire::schema::{self, Described};

/// The shape of a JSON value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// No body.
    Nothing,
    /// Any JSON value.
    Any,
    /// What is derived from the type that is written.
    Typed(Described),
    /// A string.
    Text,
    /// A string of this regular expression.
    Pattern(&'static str),
    /// A decimal number as a string.
    Decimal,
    /// A decimal number, as a string or a JSON number.
    DecimalInput,
    /// An integer.
    Integer,
    /// A JSON number.
    Number,
    /// true or false.
    Boolean,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// That, or null.
    Nullable(&'static Shape),
    /// An array of that.
    List(&'static Shape),
    /// An array of exactly these.
    Tuple(&'static [Shape]),
    /// Either of these.
    Either(&'static [Shape]),
    /// An object with these members, written in place.
    Object(&'static [Field]),
    /// An object with a name of its own in the document's components. One name, one list of members.
    Named(&'static str, &'static [Field]),
}

/// Name of a market as it may be sent, in any case.
pub const SYMBOL_SENT: Shape = Shape::Pattern("^[A-Za-z0-9]{2,20}$");
/// Name of a market as it is shown.
pub const SYMBOL: Shape = Shape::Pattern(schema::SYMBOL);
/// Name of a token.
pub const TOKEN: Shape = Shape::Pattern(schema::TOKEN);
/// Id of an order as it is shown.
pub const UUID: Shape = Shape::Pattern(schema::UUID);
/// Id of an order as it may be sent.
pub const UUID_SENT: Shape = Shape::Pattern("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$");
/// A wallet as it is shown.
pub const ADDRESS: Shape = Shape::Pattern(schema::ADDRESS);
/// A wallet as it may be sent.
pub const ADDRESS_SENT: Shape = Shape::Pattern("^0x[0-9a-fA-F]{40}$");

/// A decimal that may be below zero.
pub const SIGNED: Shape = Shape::Pattern(schema::SIGNED);

/// A decimal, or null.
pub const DECIMAL_OR_NULL: Shape = Shape::Nullable(&Shape::Decimal);

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether it is always there.
    pub required: bool,
    /// What it means; may be empty.
    pub doc: &'static str,
}

impl Field {
    /// A member that is always there.
    pub const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Field {
        Field { name, shape, required: true, doc }
    }

    /// A member that may be absent.
    pub const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Field {
        Field { name, shape, required: false, doc }
    }
}

/// A member that is a string and needs no word more.
pub const fn text(name: &'static str) -> Field {
    Field::new(name, Shape::Text, "")
}

/// One that is a decimal.
pub const fn decimal(name: &'static str) -> Field {
    Field::new(name, Shape::Decimal, "")
}

/// One that is a decimal and may be below zero.
pub const fn signed(name: &'static str) -> Field {
    Field::new(name, SIGNED, "")
}

/// One that is an integer.
pub const fn integer(name: &'static str) -> Field {
    Field::new(name, Shape::Integer, "")
}

/// One that is true or false.
pub const fn boolean(name: &'static str) -> Field {
    Field::new(name, Shape::Boolean, "")
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the path, in braces.
    Path,
    /// In the query string.
    Query,
    /// In a header.
    Header,
}

/// A parameter outside the body.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Path, query or header.
    pub place: Place,
    /// Name, required, shape, meaning.
    pub field: Field,
}

impl Param {
    /// A parameter in the path.
    pub const fn path(name: &'static str, shape: Shape, doc: &'static str) -> Param {
        Param { place: Place::Path, field: Field::new(name, shape, doc) }
    }

    /// A parameter in the query that must be sent.
    pub const fn query(name: &'static str, shape: Shape, doc: &'static str) -> Param {
        Param { place: Place::Query, field: Field::new(name, shape, doc) }
    }

    /// A parameter in the query that may be left out.
    pub const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Param {
        Param { place: Place::Query, field: Field::optional(name, shape, doc) }
    }

    /// A header that may be left out.
    pub const fn header(name: &'static str, shape: Shape, doc: &'static str) -> Param {
        Param { place: Place::Header, field: Field::optional(name, shape, doc) }
    }
}
