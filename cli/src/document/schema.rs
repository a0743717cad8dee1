//! Whether a document's JSON follows `docs/estimate-schema.json`, or a plan's `docs/plan-schema.json`, for tests.

use super::{Document, Format, Look};

/// What the schema complains about.
pub fn errors(document: &Document) -> Vec<String> {
    let path = if document.kind == "plan" {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/plan-schema.json")
    } else {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/estimate-schema.json")
    };
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let mut json = Vec::new();
    document.write(Look { format: Format::Json, width: None, color: false }, &mut json).unwrap();
    schema.iter_errors(&serde_json::from_slice(&json).unwrap()).map(|e| e.to_string()).collect()
}
