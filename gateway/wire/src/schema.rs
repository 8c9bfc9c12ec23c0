//! What the document says of an answer: schemas that are derived from the structs, in the document's own manner.

pub use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

/// A decimal, and one that may be below zero.
pub const DECIMAL: &str = "^[0-9]{1,20}(\\.[0-9]{1,18})?$";
/// A decimal that may be below zero.
pub const SIGNED: &str = "^-?[0-9]{1,20}(\\.[0-9]{1,18})?$";

/// Name of a market.
pub const SYMBOL: &str = "^[A-Z0-9]{2,20}$";
/// Name of a token.
pub const TOKEN: &str = "^[A-Z0-9]{1,10}$";
/// A wallet or a contract.
pub const ADDRESS: &str = "^0x[0-9a-f]{40}$";
/// Id of an order.
pub const UUID: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
/// Number of a trade.
pub const TRADE_ID: &str = "^[0-9]{1,20}$";
/// Hash of a transaction.
pub const TX_HASH: &str = "^0x[0-9a-f]{64}$";
/// A hash.
pub const HASH: &str = "^[0-9a-f]{64}$";

/// A string of a regular expression.
pub(crate) fn pattern(pattern: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": pattern })
}

/// A type of answer, as a row names it.
#[derive(Clone, Copy, Debug)]
pub struct Described(fn(&mut SchemaGenerator) -> Schema);

impl Described {
    /// The type `T`.
    pub const fn of<T: JsonSchema>() -> Described {
        Described(SchemaGenerator::subschema_for::<T>)
    }

    /// Its schema. Structs that have a name of their own are put into `schemas`, and referred to.
    pub fn schema(self, schemas: &mut Map<String, Value>) -> Value {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let settings = settings.with(|settings| settings.definitions_path = "/components/schemas".into());
        let mut generator = settings.into_generator();
        let mut schema = Value::from((self.0)(&mut generator));
        tidy(&mut schema);
        for (name, mut schema) in generator.take_definitions(true) {
            tidy(&mut schema);
            if let Some(object) = schema.as_object_mut() {
                // What a struct is for is told in the code.
                object.remove("description");
            }
            schemas.insert(name, schema);
        }
        schema
    }
}

/// Takes away what is of Rust and not of the answer.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(tidy),
        Value::Object(object) => {
            if object.get("format").is_some_and(Value::is_string) {
                for bound in ["format", "minimum", "maximum"] {
                    object.remove(bound);
                }
            }
            let required = object.get("required").cloned();
            if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
                let is_required = |name: &String| {
                    let names = required.as_ref().and_then(Value::as_array);
                    names.is_some_and(|names| names.iter().any(|other| other == name))
                };
                // What may be absent is absent, never null.
                properties
                    .iter_mut()
                    .filter(|(name, _)| !is_required(name))
                    .for_each(|(_, schema)| never_null(schema));
            }
            if object.get("type").is_some_and(|kind| kind == "object")
                && !object.contains_key("additionalProperties")
            {
                object.entry("properties").or_insert_with(|| Map::new().into());
                object.entry("required").or_insert_with(|| Value::Array(Vec::new()));
            }
            // How long a list is, is no more than how it is made.
            if object.contains_key("items") {
                object.remove("minItems");
                object.remove("maxItems");
            }
            nullable(object);
            object.values_mut().for_each(tidy);
        }
        // Any value.
        Value::Bool(true) => *schema = Map::new().into(),
        _ => {}
    }
}

fn never_null(schema: &mut Value) {
    let is_null = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "null");
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.retain(|word| !word.is_null());
    }
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &kinds[..] {
            schema["type"] = kind.clone();
        }
    } else if let Some([one, null]) = schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
        && is_null(null)
    {
        let (mut one, description) = (one.clone(), schema["description"].take());
        if !description.is_null() {
            one["description"] = description;
        }
        *schema = one;
    }
}

/// `{"type": [x, "null"]}` as `{"anyOf": [{"type": x}, {"type": "null"}]}`.
fn nullable(object: &mut Map<String, Value>) {
    let Some([kind, null]) = object.get("type").and_then(Value::as_array).map(Vec::as_slice) else { return };
    if null != "null" {
        return;
    }
    let kind = kind.clone();
    let description = object.remove("description");
    let mut one = std::mem::take(object);
    one.insert("type".to_owned(), kind);
    if let Some(words) = one.get_mut("enum").and_then(Value::as_array_mut) {
        words.retain(|word| !word.is_null());
    }
    object.insert("anyOf".to_owned(), serde_json::json!([one, { "type": "null" }]));
    object.extend(description.map(|description| ("description".to_owned(), description)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{Money, Units};
    use serde::Serialize;
    use serde_json::json;

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Row {
        /// When.
        time_ms: i64,
        price: Option<Units>,
        #[serde(skip_serializing_if = "Option::is_none")]
        fee: Option<Money>,
        /// Of what.
        #[serde(skip_serializing_if = "Option::is_none")]
        part: Option<Part>,
        side: Option<Side>,
        #[serde(skip_serializing_if = "Option::is_none")]
        other_side: Option<Side>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Part {
        count: u32,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "UPPERCASE")]
    #[schemars(inline)]
    #[expect(dead_code, reason = "described, never written")]
    enum Side {
        Buy,
        Sell,
    }

    #[test]
    fn schemas_say_what_is_written_and_nothing_of_rust() {
        let mut schemas = Map::new();
        let list = Described::of::<Vec<Row>>().schema(&mut schemas);
        assert_eq!(list, json!({ "type": "array", "items": { "$ref": "#/components/schemas/Row" } }));
        let decimal = json!({ "type": "string", "pattern": DECIMAL });
        assert_eq!(
            schemas["Row"],
            json!({
                "type": "object",
                "properties": {
                    "timeMs": { "type": "integer", "description": "When." },
                    "price": { "anyOf": [decimal, { "type": "null" }] },
                    "fee": decimal,
                    "part": { "$ref": "#/components/schemas/Part", "description": "Of what." },
                    "otherSide": { "type": "string", "enum": ["BUY", "SELL"] },
                    "side": { "anyOf": [{ "type": "string", "enum": ["BUY", "SELL"] }, { "type": "null" }] },
                },
                "required": ["timeMs", "price", "side"],
            })
        );
        assert_eq!(
            schemas["Part"],
            json!({ "type": "object", "properties": { "count": { "type": "integer" } }, "required": ["count"] })
        );
    }
}
