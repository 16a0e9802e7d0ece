//! The table of prices, by model and host.

use super::name::{Name, find_exact};
use engine::cost::{Date, Dollars, LongPrompt, Price, PriceSource};
use engine::endpoint::options::{CacheTtl, RequestOptions};
use engine::endpoint::{Endpoint, Wire};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../prices.toml");

// A test parses the table; on an error there are no prices.
static PRICES: LazyLock<Option<Table>> = LazyLock::new(|| toml::from_str(TABLE).ok());

/// Service tiers at the usual price.
const USUAL_TIERS: &[&str] = &["auto", "default", "standard_only"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    date: Date,
    subscription: Vec<String>,
    price: Vec<Line>,
}

/// Prices for a million tokens.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line {
    name: Name,
    input: Dollars,
    output: Dollars,
    read: Option<Dollars>,
    write: Option<Dollars>,
    write_long: Option<Dollars>,
    above: Option<u32>,
    input_times: Option<f64>,
    output_times: Option<f64>,
    until: Option<Date>,
    at: Option<String>,
}

/// Returns the known prices of a model at an endpoint, in the order in which they hold. None where the model runs on
/// the user's own machine or is not sold by the token, and for requests of an unusual tier.
pub fn prices(endpoint: &Endpoint, name: &str) -> Vec<Price> {
    let is_sold = match endpoint.wire {
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic | Wire::Gemini => true,
        Wire::Ollama | Wire::Scripted => false,
    };
    let Some(table) = PRICES.as_ref().filter(|_| is_sold && !is_other_tier(name, &endpoint.options)) else {
        return Vec::new();
    };
    let url = Url::parse(endpoint.url()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let is_at =
        |known: &str| host.strip_suffix(known).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
    if table.subscription.iter().any(|known| is_at(known)) {
        return Vec::new();
    }
    let lines = find_exact(table.price.iter().map(|line| (&line.name, line)), name).into_iter();
    let here = lines.filter(|line| line.at.as_deref().is_none_or(is_at));
    here.map(|line| line.price(table.date, keeps_long(&endpoint.options))).collect()
}

impl Line {
    fn price(&self, date: Date, keeps_long: bool) -> Price {
        let percent = |times: Option<f64>| (times.unwrap_or(1.0) * 100.0).round() as u32;
        Price {
            source: PriceSource::Table(date),
            input: self.input,
            output: self.output,
            cache_read: self.read,
            cache_write: if keeps_long { self.write_long } else { self.write },
            long: self.above.map(|above| LongPrompt {
                above,
                input_percent: percent(self.input_times),
                output_percent: percent(self.output_times),
            }),
            until: self.until,
        }
    }
}

/// `true` if requests ask for the longer lifetime of the cache.
fn keeps_long(options: &RequestOptions) -> bool {
    let of_gpt = options.extra_body.get("prompt_cache_options").and_then(|options| options.get("ttl"));
    options.cache_ttl == Some(CacheTtl::Hour) || of_gpt.and_then(Value::as_str) == Some("12h")
}

/// `true` if requests are not for the usual price: of a tier that costs less or more, or a router's free variant.
fn is_other_tier(name: &str, options: &RequestOptions) -> bool {
    let is_usual = |tier: &Value| tier.as_str().is_some_and(|tier| USUAL_TIERS.contains(&tier));
    name.ends_with(":free") || options.extra_body.get("service_tier").is_some_and(|tier| !is_usual(tier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(wire: Wire, url: &str, name: &str) -> Vec<Price> {
        prices(&Endpoint { base_url: Some(url.to_owned()), ..Endpoint::of(wire) }, name)
    }

    /// Input, output, read and write, in dollars.
    fn figures(price: &Price) -> [Option<f64>; 4] {
        let dollars = |dollars: Dollars| f64::from(dollars);
        [
            Some(price.input.into()),
            Some(price.output.into()),
            price.cache_read.map(dollars),
            price.cache_write.map(dollars),
        ]
    }

    #[test]
    fn each_line_names_one_model_and_no_line_is_lost() {
        let table: Table = toml::from_str(TABLE).unwrap();
        assert!(table.price.len() > 40, "{}", table.price.len());
        for line in &table.price {
            assert!(line.input > Dollars::default() && line.input < line.output);
            assert!(line.read.is_none_or(|read| read < line.input));
            assert!(line.write.is_none_or(|write| write > line.input));
            assert_eq!(line.above.is_some(), line.input_times.is_some() && line.output_times.is_some());
            let same: Vec<&Line> = table.price.iter().filter(|other| other.name == line.name).collect();
            // Only the last line of a name holds for ever.
            assert!(same.iter().rev().skip(1).all(|earlier| earlier.until.is_some()));
        }
    }

    #[test]
    fn price_holds_for_its_own_version_only() {
        let input = |name: &str| {
            let found = prices(&Endpoint::of(Wire::OpenaiChat), name);
            found.first().map(|price| f64::from(price.input))
        };
        for (name, expected) in [
            ("claude-opus-5-5", Some(4.0)),
            ("claude-opus-5-5-20261001", Some(4.0)),
            ("anthropic/claude-opus-5.5:thinking", Some(4.0)),
            ("us.anthropic.claude-opus-5-5-20261001-v1:0", Some(4.0)),
            ("claude-opus-4-6-v1", Some(5.0)),
            ("claude-opus-4-8@20260601", Some(5.0)),
            ("Claude-Haiku-5-5", Some(0.1)),
            ("gpt-5.4-2026-03-05", Some(2.5)),
            ("openai/gpt-5.3-codex", Some(1.75)),
            ("models/gemini-3.1-pro-preview", Some(2.0)),
            ("claude-opus-5-6", None),
            ("claude-opus-6", None),
            ("claude-opus-latest", None),
            ("claude-opus", None),
            ("claude-opus-5-5-fast", None),
            ("anthropic/claude-opus-5.5:free", None),
            ("claude-3-5-sonnet-20241022", None),
            ("gpt-5.4-pro", None),
            ("gpt-5.3", None),
            ("gpt-6", None),
            ("gpt-6.2-terra", None),
            ("gpt-4o", None),
            ("gemini-3.1-pro", None),
            ("mistral-large-4", None),
            ("", None),
        ] {
            assert_eq!(input(name), expected, "{name}");
        }
    }

    #[test]
    fn price_follows_the_lifetime_of_the_cache() {
        let of = |wire, name: &str, options: RequestOptions| {
            let found = prices(&Endpoint { options, ..Endpoint::of(wire) }, name);
            found.iter().map(figures).collect::<Vec<_>>()
        };
        let none = RequestOptions::default;
        let hour = RequestOptions { cache_ttl: Some(CacheTtl::Hour), ..none() };
        let body = |body: Value| RequestOptions { extra_body: body.as_object().unwrap().clone(), ..none() };
        let claude = [Some(4.0), Some(20.0), Some(0.2)];
        let with = |[input, output, read]: [Option<f64>; 3], write| vec![[input, output, read, write]];
        assert_eq!(of(Wire::Anthropic, "claude-opus-5-5", none()), with(claude, Some(5.0)));
        assert_eq!(of(Wire::Anthropic, "claude-opus-5-5", hour.clone()), with(claude, Some(8.0)));
        let unknown = with([Some(8.0), Some(40.0), Some(0.2)], None);
        assert_eq!(of(Wire::Anthropic, "claude-fable-5-2", hour), unknown);
        let sol = [Some(2.0), Some(10.0), Some(0.1)];
        let half_a_day = body(json!({ "prompt_cache_options": { "ttl": "12h" } }));
        assert_eq!(of(Wire::OpenaiResponses, "gpt-6.1-sol", half_a_day), with(sol, Some(5.0)));
        let usual = body(json!({ "service_tier": "default" }));
        assert_eq!(of(Wire::OpenaiResponses, "gpt-6.1-sol", usual), with(sol, Some(2.5)));
        for tier in ["flex", "fast", "priority"] {
            let other = body(json!({ "service_tier": tier }));
            assert_eq!(of(Wire::OpenaiResponses, "gpt-6.1-sol", other), Vec::<[Option<f64>; 4]>::new());
        }
    }

    #[test]
    fn model_has_a_price_only_where_it_is_sold_by_the_token() {
        let is_known = |wire, url: &str, name: &str| !at(wire, url, name).is_empty();
        for (wire, url, name, expected) in [
            (Wire::OpenaiChat, "https://api.deepseek.com/v1", "deepseek-flash", true),
            (Wire::OpenaiChat, "http://127.0.0.1:8000/v1", "deepseek-flash", false),
            (Wire::OpenaiChat, "https://api.notdeepseek.com/v1", "deepseek-flash", false),
            (Wire::OpenaiChat, "https://gateway.example/v1", "claude-opus-5-5", true),
            (Wire::OpenaiChat, "https://api.githubcopilot.com", "claude-opus-5-5", false),
            (Wire::OpenaiResponses, "https://chatgpt.com/backend-api", "gpt-6.1-sol", false),
            (Wire::Ollama, "http://127.0.0.1:11434", "gpt-6.1-sol", false),
            (Wire::Scripted, "a file", "gpt-6.1-sol", false),
        ] {
            assert_eq!(is_known(wire, url, name), expected, "{url}");
        }
    }

    #[test]
    fn announced_price_holds_from_its_day_on() {
        let prices = prices(&Endpoint::of(Wire::Gemini), "gemini-4-argon");
        let on = |day: &str| Price::on(&prices, Date::of(day)).map(figures);
        let (before, after) =
            ([Some(2.0), Some(10.0), Some(0.1), None], [Some(4.0), Some(20.0), Some(0.2), None]);
        assert_eq!(on("2026-11-30T23:59:59Z"), Some(before));
        assert_eq!(on("2026-12-01T00:00:00Z"), Some(after));
    }

    #[test]
    fn long_prompts_cost_what_their_makers_say() {
        let of = |wire, name: &str, tokens: u32| {
            let prices = prices(&Endpoint::of(wire), name);
            let usage = engine::message::Usage {
                input_tokens: Some(tokens),
                output_tokens: Some(1000),
                cached_input_tokens: Some(50_000),
                ..Default::default()
            };
            usage.cost(&prices[0]).map(f64::from)
        };
        // 50,000 × 0.1 + 50,000 × 0.01 + 1000 × 0.5 = 6000 millionths; one token more, and all of it costs five times
        // as much.
        assert_eq!(of(Wire::Anthropic, "claude-haiku-5-5", 100_000), Some(0.006));
        assert_eq!(of(Wire::Anthropic, "claude-haiku-5-5", 100_001), Some(0.030_000_5));
        // 150,000 × 2 + 50,000 × 0.2 + 1000 × 12, then 150,001 × 4 + 50,000 × 0.4 + 1000 × 18.
        assert_eq!(of(Wire::Gemini, "gemini-3.1-pro-preview", 200_000), Some(0.322));
        assert_eq!(of(Wire::Gemini, "gemini-3.1-pro-preview", 200_001), Some(0.638_004));
        // 222,000 × 2 + 50,000 × 0.1 + 1000 × 10, then 250,000 × 4 + 50,000 × 0.2 + 1000 × 15.
        assert_eq!(of(Wire::OpenaiResponses, "gpt-6.1-sol", 272_000), Some(0.459));
        assert_eq!(of(Wire::OpenaiResponses, "gpt-6.1-sol", 300_000), Some(1.025));
    }
}
