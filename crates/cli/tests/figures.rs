//! Figures: the same in each format and at each run, and an error before the work begins where a format is unknown.

use std::sync::LazyLock;

use super::{Folder, assert_contains, text};

/// Five configurations in the directory `e`.
static ENSEMBLE: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    folder.succeeds(
        "config generate heatbath --beta 5.7 --lattice 4.4.4.4 --seed 4 --overrelax 1 --sweeps 10 --every 2 --device cpu --output e",
    );
    folder
});

#[test]
fn a_figure_is_svg_pdf_or_png_and_the_same_bytes_each_time() {
    let folder = Folder::with_gauge();
    let draw = |name: &str| {
        folder.succeeds(&format!("flow --config gauge.nersc --step 0.1 --time 0.3 --device cpu --plot {name}"));
        folder.read(name)
    };
    for (name, start) in [("f.svg", &b"<svg"[..]), ("f.pdf", b"%PDF-1."), ("f.PNG", b"\x89PNG\r\n\x1a\n")] {
        let figure = draw(name);
        assert!(figure.starts_with(start) && figure.len() > 4000, "{name}: {} bytes", figure.len());
        assert_eq!(figure, draw(name), "{name}");
    }
}

#[test]
fn an_unknown_format_is_refused_before_anything_is_read() {
    let folder = Folder::new();
    for line in [
        "solve --config absent.nersc --source gauss:1 --mass 0.1 --plot",
        "flow --config absent.nersc --plot",
        "observe --config absent.nersc --plot",
        "potential absent.nersc --plot",
        "spectrum fit absent.json --plot",
        "correlator --propagator absent.npy --plot",
        "compare absent.npy absent.npy --plot",
        "demo --plot",
        "peak --roofline",
    ] {
        folder.misuses(&format!("{line} plot.gif"), &["cannot write plot.gif: expected .svg, .pdf or .png"]);
        folder.misuses(&format!("{line} plot"), &["cannot write plot: expected"]);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn a_solve_is_drawn_with_its_tolerance_and_so_is_one_that_does_not_converge() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:1 --device cpu";
    folder.succeeds(&format!("{solve} --mass 0.5 --plot one.svg"));
    let one = text(&folder.read("one.svg"));
    assert_contains(&one, &["wilson, mass 0.5", ">iteration<", ">tolerance<", "tolerance 1e-10; 4.4.4.8"]);
    folder.succeeds(&format!("{solve} --operator staggered --mass 0.5 --shifts 0,0.25 --plot shifts.svg"));
    assert_contains(&text(&folder.read("shifts.svg")), &[">σ = 0<", ">σ = 0.25<"]);
    folder.succeeds(&format!("{solve} --mass 0.5 --batch 2 --plot batch.svg"));
    assert_contains(&text(&folder.read("batch.svg")), &[">right-hand side 2<"]);
    folder.ends(1, &format!("{solve} --mass 0.5 --max-iterations 3 --plot stopped.pdf"));
    assert!(folder.read("stopped.pdf").starts_with(b"%PDF"));
}

#[test]
fn a_potential_is_drawn_with_its_fit() {
    let folder = &*ENSEMBLE;
    let found = folder.json("potential e --loops 4,3 --fit 1:4 --device cpu --plot p.svg");
    let svg = text(&folder.read("p.svg"));
    assert_contains(&svg, &["Static potential on 4.4.4.4", ">t / a = 2<", ">a V(r)<", ">r / a<", "5 configurations"]);
    let has_fit = found["fits"].as_array().unwrap().iter().any(|fit| fit["time"].as_u64() <= Some(2));
    assert_eq!(svg.contains("/dof = "), has_fit, "{found}");
}

#[test]
fn observables_of_several_configurations_have_means_errors_and_a_history() {
    let folder = &*ENSEMBLE;
    let observe = "observe --observables plaquette,clover --device cpu --config";
    let found = folder.json(&format!("{observe} e --plot history.svg"));
    let history = found["history"].as_array().unwrap();
    assert_eq!(
        (history.len(), &found["configurations"], &history[2]["file"]),
        (5, &5.into(), &"e/000006.nersc".into())
    );
    let of = |k: usize| -> Vec<f64> { history.iter().map(|one| one["values"][k].as_f64().unwrap()).collect() };
    for (k, value) in found["values"].as_array().unwrap().iter().enumerate() {
        let values = of(k);
        let mean = values.iter().sum::<f64>() / 5.0;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20.0;
        let close = |a: f64, b: &serde_json::Value| (a - b.as_f64().unwrap()).abs() < 1e-12 * a.abs().max(1e-3);
        assert!(close(mean, &value["value"]) && close(variance.sqrt(), &value["error"]), "{value}");
    }
    // Each as it is alone, to the bit.
    let alone = folder.json(&format!("{observe} e/000004.nersc"));
    assert_eq!(alone["values"][0]["value"], history[1]["values"][0]);
    assert_eq!((&alone["history"], &alone["values"][0]["error"]), (&serde_json::json!([]), &serde_json::Value::Null));
    let svg = text(&folder.read("history.svg"));
    assert_contains(
        &svg,
        &["Observables on 4.4.4.4", ">plaquette<", ">Q<", ">number of the configuration<", "jackknife errors"],
    );
    folder.says(&format!("{observe} e"), &["observable", "mean", "5 configurations, jackknife errors"]);
    folder.refuses(&format!("{observe} e/000004.nersc --plot h.svg"), &["--plot draws a history", "there is 1"]);
    folder.refuses(&format!("{observe} e/000004.nersc e/000004.nersc"), &["is the same configuration as"]);
}
