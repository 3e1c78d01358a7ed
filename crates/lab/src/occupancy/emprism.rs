//! The simplified formulas of the EmPRiSM sprint report (Pawsey), which estimate occupancy from registers and local memory without granularity, and
//! how they differ from the hardware. They are for CDNA1 (MI100), and extend to CDNA2 (MI200) with its 32 waves.

use serde::Serialize;

/// The number of vector registers per compute unit in the report ("128K").
const VGPRS: f64 = 128_000.0;
const SGPRS: f64 = 3200.0;
const LDS: f64 = 65536.0;
const WAVEFRONT: f64 = 64.0;

/// How the formulas differ from the rules of the hardware, and why.
pub const DIFFERENCES: &str = "The simplified formulas take 128000 instead of 131072 registers a CU, count the half of them on CDNA1 that is \
accumulation registers (a file of its own: a wave has 256 a lane for all else, so 52 registers leave 4 waves a SIMD), round nothing to what \
is allocated (4 registers on CDNA1, 8 on CDNA2, 512 bytes of LDS), and let parts of groups and fractions of a wave a SIMD run, where the \
hardware takes whole groups.";

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Share {
    /// Waves per compute unit, rounded down.
    pub waves: usize,
    /// For registers, the ratio before rounding; for local memory, that of the waves.
    pub share: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Simplified {
    pub most_waves: usize,
    pub vgprs: Share,
    pub sgprs: Share,
    /// By local memory; `None` for a kernel without any.
    pub lds: Option<Share>,
}

/// The estimate for `vgprs` registers per work-item, `sgprs` per wavefront, and `lds` bytes per group of `group` work-items. `None` for an
/// architecture for which the formulas are not valid.
pub fn simplified(architecture: &str, vgprs: usize, sgprs: usize, lds: usize, group: usize) -> Option<Simplified> {
    let most_waves = match architecture {
        "gfx908" => 40,
        "gfx90a" => 32,
        _ => return None,
    };
    let most = most_waves as f64;
    let of_registers = |most_used: f64, used: usize| {
        let share = (most_used / used.max(1) as f64).min(1.0);
        Share { waves: (share * most).floor() as usize, share }
    };
    // The most registers per work-item, and the most scalar ones per wavefront, with which all waves fit.
    let vgprs = of_registers(VGPRS / (most * WAVEFRONT), vgprs);
    let sgprs = of_registers(SGPRS / most, sgprs);
    let waves_a_group = (group as f64 / WAVEFRONT).ceil();
    let lds = (lds > 0).then(|| {
        let waves = (LDS / lds as f64 * waves_a_group).min(most).floor();
        Share { waves: waves as usize, share: waves / most }
    });
    Some(Simplified { most_waves, vgprs, sgprs, lds })
}

impl Simplified {
    /// The resource that allows the fewest waves, with its result.
    pub fn binding(&self) -> (&'static str, Share) {
        let all = [("VGPRs", Some(self.vgprs)), ("SGPRs", Some(self.sgprs)), ("LDS", self.lds)];
        let known = all.into_iter().filter_map(|(name, share)| Some((name, share?)));
        known.min_by_key(|(_, share)| share.waves).unwrap_or(("VGPRs", self.vgprs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mi100(vgprs: usize, sgprs: usize, lds: usize) -> Simplified {
        simplified("gfx908", vgprs, sgprs, lds, 256).unwrap()
    }

    #[test]
    fn the_numbers_are_those_of_the_report() {
        let of_52 = mi100(52, 64, 24 << 10);
        assert_eq!((of_52.vgprs.waves, (of_52.vgprs.share * 1000.0).round()), (38, 962.0));
        assert_eq!(of_52.sgprs, Share { waves: 40, share: 1.0 });
        assert_eq!(of_52.lds, Some(Share { waves: 10, share: 0.25 }));
        assert_eq!(of_52.binding(), ("LDS", Share { waves: 10, share: 0.25 }));
        let in_registers = mi100(64, 64, 0);
        assert_eq!((in_registers.vgprs.waves, (in_registers.vgprs.share * 100.0).round()), (31, 78.0));
        assert_eq!((in_registers.lds, in_registers.binding().0), (None, "VGPRs"));
    }

    #[test]
    fn fifty_registers_and_eighty_scalar_ones_leave_all_waves() {
        assert_eq!((mi100(50, 80, 0).vgprs.waves, mi100(51, 81, 0).vgprs.waves), (40, 39));
        assert_eq!((mi100(50, 80, 0).sgprs.waves, mi100(51, 81, 0).sgprs.waves), (40, 39));
    }

    #[test]
    fn they_are_for_cdna1_and_cdna2_alone() {
        assert_eq!(simplified("gfx90a", 64, 64, 0, 256).unwrap().vgprs.waves, 31);
        assert_eq!(simplified("gfx942", 64, 64, 0, 256), None);
    }
}
