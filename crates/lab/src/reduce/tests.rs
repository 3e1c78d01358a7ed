//! Rows, failures and agreement, on made-up results.

use lanefield::backend::Cpu;

use super::*;

fn bench() -> ReduceBench {
    ReduceBench {
        extents: Extents::new([2, 2, 2, 2]).unwrap(),
        lanes: LaneChoice::Auto,
        object: Words(3),
        bundle: 12,
        finish: None,
        samples: 2,
    }
}

#[test]
fn devices_whose_work_items_run_in_step_in_any_number_have_a_plan_of_groups_that_they_take() {
    for multiple in [None, Some(1), Some(4), Some(8), Some(16), Some(24), Some(64), Some(128)] {
        for max_work_group_size in [64, 256, 1000, 4096] {
            let imagined = DeviceInfo::imagined("any");
            let info = DeviceInfo { preferred_work_group_multiple: multiple, max_work_group_size, ..imagined };
            for bytes in [16, 192] {
                let plan = get_num_blocks_and_threads(bytes, &as_grid_sees(&info)).unwrap();
                assert!(plan.threads() <= max_work_group_size, "{multiple:?}: {plan}");
            }
        }
    }
}

/// The rows and the agreement of the exact sums that a call of `call` for each of `setups` gives.
fn measured(setups: &[Result<(), &str>], call: impl Fn(usize) -> f64) -> (Vec<ReduceRow>, Agreement) {
    let (mut cpu, bench) = (Cpu::new(None).unwrap(), bench());
    let mut measuring = Measuring::new(&mut cpu, &bench, |_: Progress<'_>| true, setups.len());
    for (sites, setup) in setups.iter().enumerate() {
        let setup = setup.map(|()| (Sum::Exact, SumOptions::default())).map_err(str::to_owned);
        let (operation, shape) = (Operation::Sum, Shape::SitesAGroup(sites));
        let row = Planned { operation, shape, group: None, form: "exact".to_owned(), setup };
        measuring.row::<f64>(row, "spinor", 96, |_, _| Ok(vec![Complex::new(1.0, call(sites))]));
    }
    measuring.end()
}

#[test]
fn sums_that_differ_in_one_bit_are_named() {
    let (rows, agreement) = measured(&[Ok(()); 2], |_| 0.0);
    assert!(agreement.same_bits() && rows.iter().all(|row| row.seconds.is_some()));
    assert_eq!(agreement.to_string(), "same bits: 0 tree sums of 0 plans, 2 exact sums");
    let (_, agreement) = measured(&[Ok(()); 3], |row| if row == 2 { -0.0 } else { 0.0 });
    let sentence =
        "sum of f64 spinor, exact, 2 sites a group differs from sum of f64 spinor, exact, 0 sites a group in word 0";
    assert_eq!(agreement.to_string(), format!("DIFFERENT bits: {sentence}"));
    assert!(!agreement.same_bits());
}

#[test]
fn a_row_that_cannot_be_run_has_the_reason_and_the_next_goes_on() {
    let (rows, agreement) = measured(&[Ok(()), Err("too large"), Ok(())], |_| 1.0);
    assert_eq!(rows[1].failure.as_deref(), Some("too large"));
    assert!(rows[1].seconds.is_none() && rows[1].bytes_per_second.is_none() && rows[2].seconds.is_some());
    assert!(agreement.same_bits() && agreement.exact_sums == 2);
}

#[test]
fn a_result_that_changes_from_run_to_run_is_no_agreement() {
    let calls = std::cell::Cell::new(0.0);
    let (_, agreement) = measured(&[Ok(())], |_| {
        calls.set(calls.get() + 1.0);
        calls.get()
    });
    let said = agreement.to_string();
    assert!(said.contains("one run differs from the next in word 0"), "{said}");
}

#[test]
fn an_object_is_summed_in_bundles_of_no_more_words_than_it_has() {
    let bench = bench();
    let plan = get_num_blocks_and_threads(48, &ReductionDevice::H200);
    let rows = planned(&bench, true, 4, 256, &plan);
    let forms: Vec<&str> = rows.iter().take(5).map(|row| row.form.as_str()).collect();
    assert_eq!(forms, ["staged:3", "fused:3", "fused:2", "serial-words", "exact"]);
    let groups: Vec<_> = rows.iter().step_by(5).map(|row| row.group).collect();
    assert_eq!(groups, [Some(8), Some(32), Some(64), Some(128), Some(512), None]);
    assert_eq!(planned(&bench, false, 4, 256, &plan).len(), 6);
}
