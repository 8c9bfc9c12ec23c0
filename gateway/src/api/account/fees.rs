//! The fee schedule, and where the caller stands in it (`account.md` 3).

use super::{OF_VIEWS, get, views};
use crate::api::docs::{Field, SIGNED, Shape};
use crate::api::{Answer, Call, Handler, Response, Route};
use crate::auth::access::{Auth, Permission};
use crate::dialect::account::fees;

const TIER: Shape = Shape::Named(
    "FeeTier",
    &[
        Field::new("tier", Shape::Integer, "From 0"),
        Field::new("name", Shape::Text, ""),
        Field::new("min_volume_14d", Shape::Decimal, "Traded value of 14 days from which it holds"),
        Field::new("maker_rate", SIGNED, "Of the resting side; below 0 a rebate"),
        Field::new("taker_rate", SIGNED, "Of the arriving side"),
    ],
);
const DISCOUNT: Shape = Shape::Object(&[
    Field::new("name", Shape::OneOf(&["referral", "fee_burn", "promo"]), ""),
    Field::new("bps", Shape::Integer, ""),
    Field::new("active", Shape::Boolean, ""),
    Field::new("expires_at", Shape::Nullable(&Shape::Integer), "UNIX milliseconds"),
]);
const STANDING: Shape = Shape::Named(
    "FeeStanding",
    &[
        Field::new("tier", Shape::Integer, ""),
        Field::new("tier_name", Shape::Text, ""),
        Field::new("volume_14d", Shape::Decimal, "The running hour and the 336 before it"),
        Field::new("volume_30d", Shape::Decimal, "The running hour and the 720 before it"),
        Field::new("base_maker_rate", SIGNED, ""),
        Field::new("base_taker_rate", SIGNED, ""),
        Field::new("discounts", Shape::List(&DISCOUNT), "In the order in which they multiply"),
        Field::new("discount_multiplier", Shape::Decimal, "Not below 0.5"),
        Field::new("maker_rate", SIGNED, "Effective"),
        Field::new("taker_rate", SIGNED, "Effective"),
        Field::new(
            "next_tier",
            Shape::Nullable(&Shape::Object(&[
                Field::new("tier", Shape::Integer, ""),
                Field::new("min_volume_14d", Shape::Decimal, ""),
                Field::new("remaining", Shape::Decimal, ""),
            ])),
            "null at the highest",
        ),
        Field::new(
            "pending_downgrade",
            Shape::Nullable(&Shape::Object(&[
                Field::new("from_tier", Shape::Integer, ""),
                Field::new("to_tier", Shape::Integer, ""),
                Field::new("effective_at", Shape::Integer, "UNIX milliseconds"),
            ])),
            "",
        ),
    ],
);

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[Route {
    named_refusals: &[OF_VIEWS],
    ..get(
        "/account/fee-info",
        Auth::Optional(Permission::Read),
        "Fee schedule; with a credential also tier, volumes and discounts of the account",
        &[],
        Shape::Object(&[
            Field::new("window_days", Shape::Integer, ""),
            Field::new("schedule", Shape::List(&TIER), "Lowest tier first"),
            Field::new(
                "next_schedule",
                Shape::Nullable(&Shape::Object(&[
                    Field::new("effective_at", Shape::Integer, "UNIX milliseconds"),
                    Field::new("schedule", Shape::List(&TIER), ""),
                ])),
                "The schedule that waits for its midnight",
            ),
            Field::optional("account", STANDING, "Absent for anonymous callers"),
        ]),
        Handler::Now(info),
    )
}];

fn info(call: &Call) -> Answer {
    let account = call.identity.map(|identity| identity.account);
    Ok(Response::of(&fees::info(views(call)?.perpetuals(), account, call.now_ms)))
}
