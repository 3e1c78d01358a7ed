! Tests whether a Fortran compiler keeps the rules of docs/arithmetic.md, section 1. It is the counterpart of
! lfr_check_compiler() in reference/lanefield_reference.c, and needs nothing from Lanefield. Compile it with the flags
! of your own program:
!
!   gfortran -O2 -ffp-contract=off -fno-tree-slp-vectorize check_compiler.f90 -o check_compiler && ./check_compiler
!
! It prints that the rules are kept, or names the first one that is broken and stops with 1. docs/compilers.md lists the flags.
module compiler_check
  use, intrinsic :: iso_fortran_env, only: real32, real64, int32, int64
  use, intrinsic :: iso_c_binding, only: c_double, c_float
  implicit none

  type pair
    real(real64) :: re, im
  end type

  interface
    ! From the C library, since ieee_fma requires Fortran 2018.
    pure function fused_f64(a, b, c) bind(C, name="fma") result(d)
      import :: c_double
      real(c_double), value :: a, b, c
      real(c_double) :: d
    end function

    pure function fused_f32(a, b, c) bind(C, name="fmaf") result(d)
      import :: c_float
      real(c_float), value :: a, b, c
      real(c_float) :: d
    end function
  end interface

  ! Every number comes through a pointer that other files could set, so the compiler cannot know it, and the program computes.
  ! (A volatile variable is not enough: flang 19 ignores the attribute.)
  procedure(copy_f64), pointer :: given_f64 => copy_f64
  procedure(copy_f32), pointer :: given_f32 => copy_f32
  procedure(through_real32), pointer :: rounded => through_real32

  interface opaque
    procedure opaque_f64, opaque_f32
  end interface

  ! Equal bits: -0 is not 0, and a NaN may be itself.
  interface same
    procedure same_f64, same_f32
  end interface

contains

  subroutine copy_f64(x, y)
    real(real64), intent(in) :: x(:)
    real(real64), intent(out) :: y(:)
    y = x
  end subroutine

  subroutine copy_f32(x, y)
    real(real32), intent(in) :: x(:)
    real(real32), intent(out) :: y(:)
    y = x
  end subroutine

  function opaque_f64(x) result(y)
    real(real64), intent(in) :: x
    real(real64) :: y, z(1)
    call given_f64([x], z)
    y = z(1)
  end function

  function opaque_f32(x) result(y)
    real(real32), intent(in) :: x
    real(real32) :: y, z(1)
    call given_f32([x], z)
    y = z(1)
  end function

  pure logical function same_f64(a, b)
    real(real64), intent(in) :: a, b
    same_f64 = transfer(a, 0_int64) == transfer(b, 0_int64)
  end function

  pure logical function same_f32(a, b)
    real(real32), intent(in) :: a, b
    same_f32 = transfer(a, 0_int32) == transfer(b, 0_int32)
  end function

  pure function f64(bits) result(x)
    integer(int64), intent(in) :: bits
    real(real64) :: x
    x = transfer(bits, x)
  end function

  pure function f32(bits) result(x)
    integer(int32), intent(in) :: bits
    real(real32) :: x
    x = transfer(bits, x)
  end function

  logical function rounds_otherwise()
    real(real64) :: one, up, even
    one = opaque(1d0)
    up = opaque(3 * 2d0**(-54))
    even = opaque(2d0**(-53))
    rounds_otherwise = .not. all([same(one + up, 1 + 2d0**(-52)), same(one + even, 1d0), same(-one - up, -1 - 2d0**(-52))])
  end function

  logical function flushes_subnormals()
    real(real64) :: d
    real(real32) :: f
    d = opaque(2d0**(-1022)) * opaque(0.5d0)
    f = opaque(2e0**(-126)) * opaque(0.5e0)
    flushes_subnormals = .not. all([same(d, f64(2_int64**51)), same(d + d, 2d0**(-1022)), same(f, f32(2_int32**22)), &
      same(f + f, 2e0**(-126)), same(real(f, real64), 2d0**(-127))])
  end function

  ! a + b - a must be computed from left to right, even without parentheses; so must a sum over an array.
  logical function reassociates()
    real(real64) :: large, one, terms(16), total
    real(real32) :: big, single, few(16), subtotal
    integer :: i
    large = opaque(2d0**100)
    one = opaque(1d0)
    big = opaque(2e0**100)
    single = opaque(1e0)
    ! Of 2^100, 1, -2^100, 1 the first 1 is lost, and the second one at the next 2^100: only the last one of all counts.
    call given_f64([(2d0**100, 1d0, -2d0**100, 1d0, i = 1, 4)], terms)
    call given_f32([(2e0**100, 1e0, -2e0**100, 1e0, i = 1, 4)], few)
    total = 0
    subtotal = 0
    do i = 1, 16
      total = total + terms(i)
    end do
    do i = 1, 16
      subtotal = subtotal + few(i)
    end do
    reassociates = .not. all([same(large + one - large, 0d0), same(one - large + large, 0d0), same((large + one) - large, 0d0), &
      same(big + single - big, 0e0), same(single - big + big, 0e0), same((big + single) - big, 0e0), &
      same(total, 1d0), same(subtotal, 1e0)])
  end function

  logical function has_excess_precision()
    real(real64) :: one, total
    real(real32) :: single, subtotal
    one = opaque(1d0)
    single = opaque(1e0)
    total = one + (opaque(2d0**(-53)) + opaque(2d0**(-80)))
    subtotal = single + (opaque(2e0**(-24)) + opaque(2e0**(-40)))
    has_excess_precision = .not. all([same(total - one, 2d0**(-52)), same(subtotal - single, 2e0**(-23))])
  end function

  ! (1 + u)(1 - u) is 1 if it is rounded, and 1 - u^2 if it is not. Each expression has its own numbers, since compilers do not fuse
  ! a product that they can use twice. There are no parentheses, since some compilers do not fuse across them.
  logical function contracts()
    real(real64), parameter :: u = 2d0**(-30)
    real(real32), parameter :: v = 2e0**(-14)
    real(real64) :: ab_minus_c, c_minus_ab, ab_minus_cd
    real(real32) :: fg_minus_h, h_minus_fg, fg_minus_hk
    complex(real64) :: z, w
    ab_minus_c = opaque(1 + u) * opaque(1 - u) - opaque(1d0)
    c_minus_ab = opaque(1d0) - opaque(1 + u) * opaque(1 - u)
    ab_minus_cd = opaque(1 + u) * opaque(1 - u) - opaque(1 - u) * opaque(1 + u)
    fg_minus_h = opaque(1 + v) * opaque(1 - v) - opaque(1e0)
    h_minus_fg = opaque(1e0) - opaque(1 + v) * opaque(1 - v)
    fg_minus_hk = opaque(1 + v) * opaque(1 - v) - opaque(1 - v) * opaque(1 + v)
    z = cmplx(opaque(1 + u), opaque(1 - u), real64)
    w = cmplx(opaque(1 - u), opaque(1 + u), real64)
    z = z * w
    contracts = .not. all([same(ab_minus_c, 0d0), same(c_minus_ab, 0d0), same(ab_minus_cd, 0d0), &
      same(fg_minus_h, 0e0), same(h_minus_fg, 0e0), same(fg_minus_hk, 0e0), same(real(z), 0d0)])
  end function

  ! (1 + u)(1 - u) - 1 is -u^2 if fma rounds once. With rounding to double in between, the last one would be 1 + 2^-11.
  logical function fma_is_not_fused()
    real(real64), parameter :: u = 2d0**(-30)
    real(real32), parameter :: v = 2e0**(-14), w = 2e0**(-12)
    fma_is_not_fused = .not. all([same(fused_f64(opaque(1 + u), opaque(1 - u), opaque(-1d0)), -2d0**(-60)), &
      same(fused_f32(opaque(1 + v), opaque(1 - v), opaque(-1e0)), -2e0**(-28)), &
      same(fused_f32(opaque(1 + w), opaque(1 + w), opaque(2e0**(-80))), 1 + 2e0**(-11) + 2e0**(-23))])
  end function

  ! A quotient q is right if |a - q b| is at most half an ulp of q times b.
  ! One divisor for many quotients: a compiler might compute its reciprocal once.
  logical function division_is_approximate()
    real(real64) :: a(16), q(16), b
    real(real32) :: f(16), p(16), g
    integer :: divisor, i
    division_is_approximate = .false.
    do divisor = 3, 59, 2
      call given_f64([(7 * i + 1d0, i = 1, 16)], a)
      call given_f32([(7 * i + 1e0, i = 1, 16)], f)
      b = opaque(real(divisor, real64))
      g = opaque(real(divisor, real32))
      q = a / b
      p = f / g
      do i = 1, 16
        if (.not. abs(fused_f64(-q(i), b, a(i))) <= spacing(q(i)) / 2 * b) division_is_approximate = .true.
        if (.not. abs(f(i) - real(p(i), real64) * g) <= real(spacing(p(i)), real64) / 2 * g) division_is_approximate = .true.
      end do
    end do
    if (.not. same(opaque(1d0) / opaque(3d0), f64(int(z"3fd5555555555555", int64)))) division_is_approximate = .true.
  end function

  ! A root q of a real32 is right if (q - ulp / 2)^2 < a < (q + ulp / 2)^2.
  logical function root_is_approximate()
    real(real64) :: q, half_ulp
    integer :: i
    root_is_approximate = .not. all([same(sqrt(opaque(2d0)), f64(int(z"3ff6a09e667f3bcd", int64))), &
      same(sqrt(opaque(3d0)), f64(int(z"3ffbb67ae8584caa", int64)))])
    do i = 3, 600, 3
      q = real(sqrt(opaque(real(i, real32))), real64)
      half_ulp = real(spacing(real(q, real32)), real64) / 2
      if (.not. ((q - half_ulp)**2 < i .and. i < (q + half_ulp)**2)) root_is_approximate = .true.
    end do
  end function

  ! Two numbers that are stored side by side: GCC 12 drops the rounding if it treats the pair as a vector.
  subroutine through_real32(x, y)
    type(pair), intent(in) :: x
    type(pair), intent(out) :: y
    y%re = real(real(x%re, real32), real64)
    y%im = real(real(x%im, real32), real64)
  end subroutine

  logical function rounding_to_real32_is_dropped()
    type(pair) :: x, y
    real(real64) :: z
    x = pair(opaque(1 + 2d0**(-29)), opaque(1 - 2d0**(-29)))
    call rounded(x, y)
    z = opaque(1 + 2d0**(-29))
    rounding_to_real32_is_dropped = .not. all([same(y%re, 1d0), same(y%im, 1d0), same(real(real(z, real32), real64), 1d0)])
  end function

  logical function zeros_or_infinities_are_lost()
    real(real64) :: minus_zero, zero, a, b, infinity, nan, again
    minus_zero = opaque(f64(ibset(0_int64, 63)))
    zero = opaque(0d0)
    a = opaque(3d0)
    b = opaque(3d0)
    infinity = opaque(huge(0d0)) * 2
    nan = infinity - infinity
    again = opaque(nan)
    zeros_or_infinities_are_lost = .not. all([same(minus_zero + 0d0, 0d0), same(-(a - b), minus_zero), &
      same(zero * (-1d0), minus_zero), same(0d0 - zero, 0d0), same(infinity, f64(ishft(2047_int64, 52)))]) .or. &
      again == again .or. nan == nan
  end function

  ! The first rule that is broken, with the flag that repairs it; an empty text if all are kept.
  function broken_rule() result(text)
    character(:), allocatable :: text
    if (rounds_otherwise()) then
      text = "sums are not rounded to nearest even: call ieee_set_rounding_mode(ieee_nearest)"
    else if (flushes_subnormals()) then
      text = "subnormal numbers are flushed to zero: compile and link without -ffast-math, -Ofast; " // &
        "ifx: -no-ftz; nvfortran: -Mnoflushz -Mnodaz"
    else if (reassociates()) then
      text = "sums are reassociated: compile without -ffast-math, -fassociative-math; " // &
        "ifx: -fp-model=precise -fprotect-parens; nvfortran: -Kieee -Mvect=noassoc; crayftn: -hfp0"
    else if (has_excess_precision()) then
      text = "sums are kept in more than their precision: compile for SSE2 (-msse2 -mfpmath=sse) or with -ffloat-store"
    else if (contracts()) then
      text = "a * b + c is contracted to fma: compile with -ffp-contract=off; ifx: -no-fma; nvfortran: -Mnofma; crayftn: -hnofma"
    else if (fma_is_not_fused()) then
      text = "fma and fmaf round twice: take another libm, or a processor with fma (-mfma)"
    else if (division_is_approximate()) then
      text = "division is not rounded correctly: compile without -freciprocal-math, -mrecip; nvfortran: -Kieee"
    else if (root_is_approximate()) then
      text = "sqrt is not rounded correctly: compile without -mrecip; nvfortran: -Kieee"
    else if (rounding_to_real32_is_dropped()) then
      text = "real(real(x, real32), real64) is not rounded to real32: GCC takes it for x in vectors; " // &
        "compile with -fno-tree-slp-vectorize"
    else if (zeros_or_infinities_are_lost()) then
      text = "zeros lose their sign, or infinities and NaN are taken for numbers: " // &
        "compile without -fno-signed-zeros, -ffinite-math-only"
    else
      text = ""
    end if
  end function

end module

program check_compiler
  use compiler_check, only: broken_rule
  implicit none
  character(:), allocatable :: broken
  broken = broken_rule()
  if (broken /= "") then
    print "(a)", broken
    stop 1
  end if
  print "(a)", "the compiler keeps the rules"
end program
