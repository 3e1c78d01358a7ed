//! `lanefield report`: one file of what other commands print, and how a browser shows it.

use std::path::PathBuf;
use std::process::Command;

use super::{Folder, assert_contains, text};

#[test]
fn documents_of_real_commands_are_recognised_and_shown() {
    let folder = Folder::with_gauge();
    let bench = "--device cpu --threads 1 --lattice 4.4.4.4 --samples 2 --json";
    folder.write("bench.json", folder.succeeds(&format!("bench --kernel blas {bench}")).as_bytes());
    folder.write("sprint.json", folder.succeeds(&format!("bench sprint {bench}")).as_bytes());
    folder.write("counters.json", folder.succeeds("counters --bytes 78MB --time 0.27ms --json").as_bytes());
    folder.succeeds("solve --config gauge.nersc --source gauss:1 --mass 0.5 --device cpu --trace trace.json");
    folder.succeeds("report bench.json sprint.json counters.json trace.json --output report.html");
    let page = text(&folder.read("report.html"));
    for part in [
        "<h2>Roofline",
        "<h2>Kernels",
        "<h2>Optimisations",
        "<h2>Counters",
        "<h2>Trace",
        "cg_update",
        "eo_clover on 4×4×4×4",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn a_baseline_is_compared_row_by_row() {
    let folder = Folder::with_gauge();
    let bench = "--device cpu --threads 1 --lattice 4.4.4.4 --samples 3 --precision f32 --json";
    folder.write("before.json", folder.succeeds(&format!("bench --kernel axpy,norm2 {bench}")).as_bytes());
    folder.write("after.json", folder.succeeds(&format!("bench --kernel axpy,scale {bench}")).as_bytes());
    folder.succeeds("report after.json --baseline before.json --output report.html");
    let page = text(&folder.read("report.html"));
    for part in ["<h2>Before and after: kernels", "times as fast", "only before", "only after", "before.json"] {
        assert!(page.contains(part), "no {part}");
    }
    assert_contains(&folder.fails(2, "report after.json --baseline none.json --output r.html"), &["none.json"]);
}

#[test]
fn files_that_are_no_documents_are_refused_and_no_report_is_left() {
    let folder = Folder::new();
    folder.write("list.json", b"[1, 2]");
    folder.write("text.json", b"kind: bench");
    assert_contains(&folder.fails(2, "report list.json --output r.html"), &["list.json", "\"kind\""]);
    assert_contains(&folder.fails(2, "report text.json --output r.html"), &["text.json is not JSON"]);
    assert_contains(&folder.fails(2, "report absent.json --output r.html"), &["absent.json"]);
    folder.write("other.json", b"{ \"kind\": \"weather\", \"schema\": 1 }");
    let error = folder.fails(2, "report other.json --output r.html");
    assert_contains(&error, &["other.json is of kind 'weather', which this version does not know", "peak"]);
    folder.write("other.json", b"{ \"kind\": \"peak\", \"schema\": 99 }");
    let error = folder.fails(2, "report list.json --baseline other.json --output r.html");
    assert_contains(&error, &["list.json"]);
    let error = folder.fails(2, "report other.json --output r.html");
    assert_contains(&error, &["other.json has schema 99 of kind 'peak', and this version reads 1"]);
    assert_contains(&folder.fails(2, "report list.json --output list.json"), &["name the same file"]);
    let error = folder.fails(2, "report list.json --output nowhere/r.html");
    assert_contains(&error, &["nowhere/r.html: the directory nowhere does not exist"]);
    assert_eq!(folder.names(), ["list.json", "other.json", "text.json"]);
}

/// A browser, if there is one.
fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|file| file.is_file());
    if found.is_none() {
        use std::io::Write as _;
        // Not eprintln, whose output the test harness keeps to itself.
        let _ = writeln!(std::io::stderr(), "skipped: no chromium, in which the report would be looked at");
    }
    found
}

/// The page of `name` after its scripts ran.
fn dom(folder: &Folder, browser: &PathBuf, name: &str) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000"])
        .arg("--allow-file-access-from-files")
        .arg(format!("--user-data-dir={}", folder.path("browser").display()))
        .args(["--dump-dom", &format!("file://{}", folder.path(name).display())])
        .output()
        .unwrap();
    text(&output.stdout)
}

/// Texts of the cells of a column in a table of a page.
fn column(page: &str, table: &str, number: usize) -> Vec<String> {
    let body = page.split(&format!("id=\"{table}\"")).nth(1).unwrap().split("<tbody>").nth(1).unwrap();
    let rows = body.split("</tbody>").next().unwrap().split("</tr>").filter(|row| row.contains("<td"));
    let cell = |row: &str| {
        let cell = row.split("<td").nth(number + 1).unwrap();
        cell.split_once('>').unwrap().1.split("</td>").next().unwrap().to_owned()
    };
    rows.map(cell).collect()
}

#[test]
fn a_browser_sorts_a_table_by_click_and_turns_the_order_round_at_the_second() {
    let Some(browser) = chromium() else { return };
    let folder = Folder::new();
    let rows = r#"{ "kind": "reduce", "schema": 1, "values": [{ "day": "b", "rain": 9 }, { "day": "c", "rain": 100 }, { "day": "a", "rain": null }] }"#;
    folder.write("reduce.json", rows.as_bytes());
    folder.succeeds("report reduce.json --output r.html");
    let page = text(&folder.read("r.html"));
    let table = "part-1-table-1";
    let after = |name: &str, clicks: &str| {
        let hook =
            format!("<script>const heads = document.querySelectorAll('#{table} th button'); {clicks}</script></body>");
        folder.write(name, page.replace("</body>", &hook).as_bytes());
        dom(&folder, &browser, name)
    };
    let untouched = after("0.html", "");
    assert_eq!(column(&untouched, table, 0), ["b", "c", "a"]);
    let by_name = after("1.html", "heads[0].click();");
    assert_eq!(column(&by_name, table, 0), ["a", "b", "c"]);
    assert!(by_name.contains("aria-sort=\"ascending\""));
    // Numbers by value, the largest first; what has none comes last in both orders.
    assert_eq!(column(&after("2.html", "heads[1].click();"), table, 0), ["c", "b", "a"]);
    assert_eq!(column(&after("3.html", "heads[1].click(); heads[1].click();"), table, 0), ["b", "c", "a"]);
}

#[test]
fn a_browser_shows_the_page_on_a_phone_without_scrolling_it_sideways() {
    let Some(browser) = chromium() else { return };
    let folder = Folder::new();
    let long = "a name that is longer than any phone is wide, with-a-word-that-cannot-be-broken-anywhere-by-a-browser-of-a-phone";
    let rows: Vec<String> = (0..6)
        .map(|k| {
            format!(
                r#"{{ "family": "clover", "kernel": "{long} {k}", "variant": "{long}", "precision": "f32", "lattice": [32, 32, 32, 64],
                "work": {{ "flops": 1824, "bytes": 1056 }}, "seconds": {{ "median": {k}e-4 }}, "flops_per_second": 5e12, "bytes_per_second": 3e12,
                "share_of_ceiling": 0.{k}, "back_to_back_seconds": 1e-4, "reconstruct": {k}, "spinors": {k} }}"#
            )
        })
        .collect();
    for kind in ["bench", "bench sprint", "peak"] {
        let document = format!(
            r#"{{ "kind": "{kind}", "schema": 1, "device": {{ "name": "{long}" }}, "copy_bytes_per_second": 4e12, "rows": [{}] }}"#,
            rows.join(", ")
        );
        folder.write(&format!("{kind}.json").replace(' ', "-"), document.as_bytes());
    }
    folder.succeeds("report bench.json bench-sprint.json peak.json --output report.html");
    // A window of this size without chrome around it; headless windows are not narrower than 500 otherwise.
    let frame = "<iframe id=f style='width:360px;height:800px;border:0' src=report.html></iframe><script>\
                 document.getElementById('f').onload = (e) => { const d = e.target.contentDocument.documentElement; \
                 document.title = d.scrollWidth + ' of ' + d.clientWidth; };</script>";
    folder.write("phone.html", frame.as_bytes());
    let dom = dom(&folder, &browser, "phone.html");
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or_default();
    let (needed, there) = title.split_once(" of ").unwrap_or_else(|| panic!("{dom}"));
    let (needed, there): (u32, u32) = (needed.parse().unwrap(), there.parse().unwrap());
    assert!((340..=360).contains(&there) && needed <= there, "{needed} of {there}");
}
