//! Colours that stand out from the paper and from each other, for all eyes.

use super::{simulate, stdout};

/// Red, green and blue as amounts of light, or lightness and the two axes of CIELAB.
type Colour = [f64; 3];
type Matrix = [[f64; 3]; 3];

/// The colours of series and the paper behind them, in the light and in the dark.
fn palettes() -> [(Vec<Colour>, Colour); 2] {
    let output = simulate("layers --trials 1 --svg -");
    let (light, dark) = stdout(&output).split_once("@media").unwrap();
    [light, dark].map(|style| {
        let colour = |index: usize| linear(style, &format!("--colour-{index}:"));
        ((1..=8).map(colour).collect(), linear(style, "--paper:"))
    })
}

fn linear(style: &str, name: &str) -> Colour {
    let digits = style.split(&format!("{name}#")).nth(1).unwrap();
    let digits = digits.split([';', '}']).next().unwrap();
    let digits = if digits.len() == 3 { digits.repeat(2) } else { digits.to_owned() };
    [0, 1, 2].map(|index| {
        let part = u8::from_str_radix(&digits[2 * index..][..2], 16).unwrap();
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

fn times(matrix: &Matrix, colour: Colour) -> Colour {
    matrix.map(|row| row.iter().zip(colour).map(|(one, other)| one * other).sum())
}

/// Web Content Accessibility Guidelines 2.2, success criterion 1.4.11: at least 3 to 1.
#[test]
fn every_colour_stands_out_from_what_is_behind_it() {
    let luminance = |colour| times(&XYZ, colour)[1] + 0.05;
    for (colours, paper) in palettes() {
        for (index, colour) in colours.into_iter().enumerate() {
            let (one, other) = (luminance(colour), luminance(paper));
            let contrast = one.max(other) / one.min(other);
            assert!(contrast >= 3.0, "colour {}: {contrast:.2}", index + 1);
        }
    }
}

/// From linear sRGB.
const XYZ: Matrix = [
    [0.412_456_4, 0.357_576_1, 0.180_437_5],
    [0.212_672_9, 0.715_152_2, 0.072_175_0],
    [0.019_333_9, 0.119_192_0, 0.950_304_1],
];

/// What is seen with all cones, and without those for long or for medium waves: F. Viénot,
/// H. Brettel, J. D. Mollon, "Digital video colourmaps for checking the legibility of displays by
/// dichromats", Color Research and Application 24 (1999), for the primaries of sRGB.
const EYES: [(&str, Matrix); 3] = [
    ("all", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [[0.112_38, 0.887_62, 0.0], [0.112_38, 0.887_62, 0.0], [0.004_01, -0.004_01, 1.0]],
    ),
    (
        "deuteranopia",
        [[0.292_75, 0.707_25, 0.0], [0.292_75, 0.707_25, 0.0], [-0.022_34, 0.022_34, 1.0]],
    ),
];

#[test]
fn any_two_series_differ_to_all_eyes() {
    for (colours, _) in palettes() {
        for (eyes, matrix) in EYES {
            let seen = |colour| lab(times(&matrix, colour).map(|part| part.clamp(0.0, 1.0)));
            let seen: Vec<_> = colours.iter().copied().map(seen).collect();
            for (index, one) in seen.iter().enumerate() {
                for (other, its) in seen[..index].iter().enumerate() {
                    let difference = difference(*one, *its);
                    let pair = (other + 1, index + 1);
                    assert!(difference >= 10.0, "{pair:?} with {eyes}: {difference:.1}");
                }
            }
        }
    }
}

/// In CIELAB, under D65.
fn lab(colour: Colour) -> Colour {
    let [x, y, z] = times(&XYZ, colour);
    let [x, y, z] = [x / 0.950_47, y, z / 1.088_83].map(|part: f64| {
        let is_bright = part > 216.0 / 24389.0;
        if is_bright { part.cbrt() } else { (24389.0 / 27.0 * part + 16.0) / 116.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// CIEDE2000, as G. Sharma, W. Wu and E. N. Dalal write it down (2005).
fn difference([l1, a1, b1]: Colour, [l2, a2, b2]: Colour) -> f64 {
    let seventh = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25f64.powi(7))).sqrt();
    let stretch = 1.5 - 0.5 * seventh((a1.hypot(b1) + a2.hypot(b2)) / 2.0);
    let (a1, a2) = (a1 * stretch, a2 * stretch);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let turn = (h2 - h1 + 180.0).rem_euclid(360.0) - 180.0;
    let (l, c, h) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0, h1 + turn / 2.0);
    let cos = |factor: f64, offset: f64| (factor * h + offset).to_radians().cos();
    let t = 1.0 - 0.17 * cos(1.0, -30.0) + 0.24 * cos(2.0, 0.0) + 0.32 * cos(3.0, 6.0)
        - 0.2 * cos(4.0, -63.0);
    let light = (l2 - l1) / (1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt());
    let chroma = (c2 - c1) / (1.0 + 0.045 * c);
    let hue = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin() / (1.0 + 0.015 * c * t);
    let h = h.rem_euclid(360.0);
    let blue = 60.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let rotation = -2.0 * seventh(c) * blue.to_radians().sin();
    (light.powi(2) + chroma.powi(2) + hue.powi(2) + rotation * chroma * hue).sqrt()
}

/// Pairs of the data that come with the paper.
#[test]
fn the_difference_is_the_one_of_the_paper() {
    let cases = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([22.7233, 20.0904, -46.6940], [23.0331, 14.9730, -42.5619], 2.0373),
        ([90.8027, -2.0831, 1.4410], [91.1528, -1.6435, 0.0447], 1.4441),
    ];
    for (one, other, expected) in cases {
        let found = difference(one, other);
        assert!((found - expected).abs() < 1e-4, "{found} for {expected}");
    }
}
