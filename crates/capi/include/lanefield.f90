! The functions of lanefield.h for Fortran 2008, through iso_c_binding. The comments of lanefield.h apply here, too.
! Compile this file with the program, and link with -llanefield.
!
! Handles are type(c_ptr). Texts end in c_null_char. Arrays are those of C: pass complex(c_double_complex) arrays with
! c_loc, as pairs of reals.
! An array psi(0:2, 0:3, 0:X-1, 0:Y-1, 0:Z-1, 0:T-1) of complex numbers has the order of spinors in C: colour, spin, x, y, z, t.
module lanefield
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: LF_OK = 0, LF_DIFFERENT = 1, LF_STOPPED = 2, LF_INVALID_ARGUMENT = 3, LF_FILE = 4, LF_DEVICE = 5
  integer(c_int32_t), parameter :: LF_OUT_OF_MEMORY = 6, LF_NOT_CONVERGED = 7, LF_NO_RESULT = 8, LF_INTERNAL = 9
  integer(c_int32_t), parameter :: LF_FULL = 0, LF_MEOOE = 1, LF_MOOEE = 2, LF_MOOEE_INVERSE = 3, LF_MPC = 4
  integer(c_int32_t), parameter :: LF_ALL_SITES = 0, LF_EVEN = 1, LF_ODD = 2
  integer(c_int32_t), parameter :: LF_F64 = 0, LF_F32 = 1
  integer, parameter :: LF_WORDS_OF_A_SUM = 72, LF_REPORT_LENGTH = 512, LF_LINK_REALS_A_SITE = 72

  ! A parameter of an operator. Its value is `text`, or `number` if `text` is c_null_ptr.
  type, bind(C) :: lf_parameter
    type(c_ptr) :: name = c_null_ptr
    real(c_double) :: number = 0
    type(c_ptr) :: text = c_null_ptr
  end type

  ! How to solve; `size` is set already.
  type, bind(C) :: lf_solve_options
    integer(c_size_t) :: size = 0
    type(c_ptr) :: method = c_null_ptr
    integer(c_int32_t) :: unpreconditioned = 0
    integer(c_int32_t) :: precision = LF_F64
    real(c_double) :: tolerance = 0
    integer(c_int64_t) :: max_iterations = 0
    integer(c_int64_t) :: patience = 0
    integer(c_int64_t) :: right_hand_sides = 0
    type(c_funptr) :: progress = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type

  ! The results of a solve, apart from the solution.
  type, bind(C) :: lf_solve_info
    integer(c_size_t) :: size = 0
    type(c_ptr) :: history = c_null_ptr
    integer(c_int64_t) :: history_room = 0
    integer(c_int64_t) :: history_length = 0
    integer(c_int64_t) :: iterations = 0
    real(c_double) :: residual = 0
    real(c_double) :: true_residual = 0
    real(c_double) :: solution_residual = 0
    real(c_double) :: seconds = 0
    real(c_double) :: building_seconds = 0
    integer(c_int64_t) :: flops = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: source_scale = 0
    type(c_ptr) :: source_scales = c_null_ptr
    integer(c_int64_t) :: source_scales_room = 0
  end type

  ! The result of a comparison; `part` is 0 for the real part, 1 for the imaginary one.
  type, bind(C) :: lf_report
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: compared = 0
    integer(c_int64_t) :: differing = 0
    integer(c_int64_t) :: most_ulp = 0
    integer(c_int32_t) :: site(4) = -1
    integer(c_int32_t) :: s = -1
    integer(c_int32_t) :: spin = -1
    integer(c_int32_t) :: colour = -1
    integer(c_int32_t) :: part = -1
    real(c_double) :: found = 0
    real(c_double) :: expected = 0
    integer(c_int64_t) :: found_bits = 0
    integer(c_int64_t) :: expected_bits = 0
    integer(c_int64_t) :: ulp = 0
    character(kind=c_char) :: text(LF_REPORT_LENGTH) = c_null_char
    character(kind=c_char) :: cause(LF_REPORT_LENGTH) = c_null_char
  end type

  abstract interface
    ! Receives the number of iterations and |r|/|b|. Stops the solve if it returns anything but 0.
    function lf_progress(user, iteration, residual) bind(C) result(stop)
      import :: c_ptr, c_int64_t, c_double, c_int32_t
      type(c_ptr), value :: user
      integer(c_int64_t), value :: iteration
      real(c_double), value :: residual
      integer(c_int32_t) :: stop
    end function
  end interface

  interface
    function lf_last_error() bind(C) result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function lf_context_create(device, threads, context) bind(C) result(status)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: device(*)
      integer(c_int32_t), value :: threads
      type(c_ptr), intent(out) :: context
      integer(c_int32_t) :: status
    end function

    subroutine lf_context_free(context) bind(C)
      import :: c_ptr
      type(c_ptr), value :: context
    end subroutine

    function lf_configuration_unit(context, extents, configuration) bind(C) result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: context
      integer(c_int32_t), intent(in) :: extents(4)
      type(c_ptr), intent(out) :: configuration
      integer(c_int32_t) :: status
    end function

    function lf_configuration_hot(context, extents, seed, configuration) bind(C) result(status)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: context
      integer(c_int32_t), intent(in) :: extents(4)
      integer(c_int64_t), value :: seed
      type(c_ptr), intent(out) :: configuration
      integer(c_int32_t) :: status
    end function

    function lf_configuration_weak(context, extents, seed, spread, configuration) bind(C) result(status)
      import :: c_ptr, c_int32_t, c_int64_t, c_double
      type(c_ptr), value :: context
      integer(c_int32_t), intent(in) :: extents(4)
      integer(c_int64_t), value :: seed
      real(c_double), value :: spread
      type(c_ptr), intent(out) :: configuration
      integer(c_int32_t) :: status
    end function

    function lf_configuration_from_links(context, extents, links, reals, tolerance, configuration) bind(C) result(status)
      import :: c_ptr, c_int32_t, c_size_t, c_double
      type(c_ptr), value :: context
      integer(c_int32_t), intent(in) :: extents(4)
      type(c_ptr), value :: links
      integer(c_size_t), value :: reals
      real(c_double), value :: tolerance
      type(c_ptr), intent(out) :: configuration
      integer(c_int32_t) :: status
    end function

    function lf_configuration_read(context, path, configuration) bind(C) result(status)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: context
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(out) :: configuration
      integer(c_int32_t) :: status
    end function

    function lf_configuration_read_as(context, path, extents, projection, configuration) bind(C) result(status)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: context, extents, projection
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(out) :: configuration
      integer(c_int32_t) :: status
    end function

    function lf_configuration_write(configuration, path) bind(C) result(status)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: configuration
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: status
    end function

    function lf_configuration_write_as(configuration, path, format) bind(C) result(status)
      import :: c_ptr, c_char, c_int32_t
      type(c_ptr), value :: configuration
      character(kind=c_char), intent(in) :: path(*), format(*)
      integer(c_int32_t) :: status
    end function

    function lf_configuration_links(configuration, links, reals) bind(C) result(status)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: configuration, links
      integer(c_size_t), value :: reals
      integer(c_int32_t) :: status
    end function

    function lf_configuration_plaquette(configuration, plaquette) bind(C) result(status)
      import :: c_ptr, c_double, c_int32_t
      type(c_ptr), value :: configuration
      real(c_double), intent(out) :: plaquette
      integer(c_int32_t) :: status
    end function

    subroutine lf_configuration_free(configuration) bind(C)
      import :: c_ptr
      type(c_ptr), value :: configuration
    end subroutine

    function lf_operator_create(context, configuration, name, parameters, count, op) bind(C) result(status)
      import :: c_ptr, c_char, c_size_t, c_int32_t, lf_parameter
      type(c_ptr), value :: context, configuration
      character(kind=c_char), intent(in) :: name(*)
      type(lf_parameter), intent(in) :: parameters(*)
      integer(c_size_t), value :: count
      type(c_ptr), intent(out) :: op
      integer(c_int32_t) :: status
    end function

    subroutine lf_operator_free(op) bind(C)
      import :: c_ptr
      type(c_ptr), value :: op
    end subroutine

    function lf_operator_reals(op, reals) bind(C) result(status)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: op
      integer(c_size_t), intent(out) :: reals
      integer(c_int32_t) :: status
    end function

    function lf_source(op, name, values, reals) bind(C) result(status)
      import :: c_ptr, c_char, c_size_t, c_int32_t
      type(c_ptr), value :: op, values
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: reals
      integer(c_int32_t) :: status
    end function

    function lf_operator_apply_f64(op, piece, sites, dagger, source, answer, reals) bind(C) result(status)
      import :: c_ptr, c_int32_t, c_size_t
      type(c_ptr), value :: op, source, answer
      integer(c_int32_t), value :: piece, sites, dagger
      integer(c_size_t), value :: reals
      integer(c_int32_t) :: status
    end function

    function lf_operator_apply_f32(op, piece, sites, dagger, source, answer, reals) bind(C) result(status)
      import :: c_ptr, c_int32_t, c_size_t
      type(c_ptr), value :: op, source, answer
      integer(c_int32_t), value :: piece, sites, dagger
      integer(c_size_t), value :: reals
      integer(c_int32_t) :: status
    end function

    function lf_check_operator_f64(op, piece, sites, dagger, source, answer, reals, report) bind(C) result(status)
      import :: c_ptr, c_int32_t, c_size_t, lf_report
      type(c_ptr), value :: op, source, answer
      integer(c_int32_t), value :: piece, sites, dagger
      integer(c_size_t), value :: reals
      type(lf_report), intent(inout) :: report
      integer(c_int32_t) :: status
    end function

    function lf_check_operator_f32(op, piece, sites, dagger, source, answer, reals, report) bind(C) result(status)
      import :: c_ptr, c_int32_t, c_size_t, lf_report
      type(c_ptr), value :: op, source, answer
      integer(c_int32_t), value :: piece, sites, dagger
      integer(c_size_t), value :: reals
      type(lf_report), intent(inout) :: report
      integer(c_int32_t) :: status
    end function

    function lf_norm2_f64(context, x, count, words, norm2) bind(C) result(status)
      import :: c_ptr, c_size_t, c_double, c_int32_t
      type(c_ptr), value :: context, x
      integer(c_size_t), value :: count, words
      real(c_double), intent(out) :: norm2
      integer(c_int32_t) :: status
    end function

    function lf_inner_f64(context, x, y, count, words, inner) bind(C) result(status)
      import :: c_ptr, c_size_t, c_double, c_int32_t
      type(c_ptr), value :: context, x, y
      integer(c_size_t), value :: count, words
      real(c_double), intent(out) :: inner(2)
      integer(c_int32_t) :: status
    end function

    function lf_exact_sum_create(sum) bind(C) result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), intent(out) :: sum
      integer(c_int32_t) :: status
    end function

    subroutine lf_exact_sum_free(sum) bind(C)
      import :: c_ptr
      type(c_ptr), value :: sum
    end subroutine

    function lf_exact_sum_add(sum, term) bind(C) result(status)
      import :: c_ptr, c_double, c_int32_t
      type(c_ptr), value :: sum
      real(c_double), value :: term
      integer(c_int32_t) :: status
    end function

    function lf_exact_sum_merge(sum, other) bind(C) result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: sum, other
      integer(c_int32_t) :: status
    end function

    function lf_exact_sum_round(sum, answer) bind(C) result(status)
      import :: c_ptr, c_double, c_int32_t
      type(c_ptr), value :: sum
      real(c_double), intent(out) :: answer
      integer(c_int32_t) :: status
    end function

    function lf_exact_sum_words(sum, words) bind(C) result(status)
      import :: c_ptr, c_int64_t, c_int32_t
      type(c_ptr), value :: sum
      integer(c_int64_t), intent(out) :: words(*)
      integer(c_int32_t) :: status
    end function

    function lf_exact_sum_set_words(sum, words) bind(C) result(status)
      import :: c_ptr, c_int64_t, c_int32_t
      type(c_ptr), value :: sum
      integer(c_int64_t), intent(in) :: words(*)
      integer(c_int32_t) :: status
    end function

    function lf_field_create(op, sites, precision, field) bind(C) result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: op
      integer(c_int32_t), value :: sites, precision
      type(c_ptr), intent(out) :: field
      integer(c_int32_t) :: status
    end function

    subroutine lf_field_free(field) bind(C)
      import :: c_ptr
      type(c_ptr), value :: field
    end subroutine

    function lf_field_upload_f64(field, values, reals) bind(C) result(status)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: field, values
      integer(c_size_t), value :: reals
      integer(c_int32_t) :: status
    end function

    function lf_field_download_f64(field, values, reals) bind(C) result(status)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: field, values
      integer(c_size_t), value :: reals
      integer(c_int32_t) :: status
    end function

    function lf_field_apply(op, piece, dagger, source, answer) bind(C) result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: op, source, answer
      integer(c_int32_t), value :: piece, dagger
      integer(c_int32_t) :: status
    end function

    function lf_field_copy(from, to) bind(C) result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: from, to
      integer(c_int32_t) :: status
    end function

    function lf_field_scale(a, x, answer) bind(C) result(status)
      import :: c_ptr, c_double, c_int32_t
      real(c_double), value :: a
      type(c_ptr), value :: x, answer
      integer(c_int32_t) :: status
    end function

    function lf_field_axpy(a, x, y) bind(C) result(status)
      import :: c_ptr, c_double, c_int32_t
      real(c_double), value :: a
      type(c_ptr), value :: x, y
      integer(c_int32_t) :: status
    end function

    function lf_field_norm2(x, norm2) bind(C) result(status)
      import :: c_ptr, c_double, c_int32_t
      type(c_ptr), value :: x
      real(c_double), intent(out) :: norm2
      integer(c_int32_t) :: status
    end function

    function lf_field_inner(x, y, inner) bind(C) result(status)
      import :: c_ptr, c_double, c_int32_t
      type(c_ptr), value :: x, y
      real(c_double), intent(out) :: inner(2)
      integer(c_int32_t) :: status
    end function

    function lf_solve_c(op, source, solution, reals, options, info) bind(C, name="lf_solve") result(status)
      import :: c_ptr, c_size_t, c_int32_t, lf_solve_options, lf_solve_info
      type(c_ptr), value :: op, source, solution
      integer(c_size_t), value :: reals
      type(lf_solve_options), intent(in) :: options
      type(lf_solve_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
  end interface

contains

  ! lf_solve() without structures whose size must be set.
  function lf_solve(op, source, solution, reals, options, info) result(status)
    type(c_ptr), intent(in) :: op, source, solution
    integer(c_size_t), intent(in) :: reals
    type(lf_solve_options), intent(in) :: options
    type(lf_solve_info), intent(inout) :: info
    integer(c_int32_t) :: status
    type(lf_solve_options) :: sized
    sized = options
    sized%size = c_sizeof(sized)
    info%size = c_sizeof(info)
    status = lf_solve_c(op, source, solution, reals, sized, info)
  end function

  ! A report whose size is set.
  function lf_new_report() result(report)
    type(lf_report) :: report
    report%size = c_sizeof(report)
  end function

  ! A C string as a Fortran string.
  function lf_text(text) result(answer)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: answer
    character(kind=c_char), pointer :: letters(:)
    integer :: length
    answer = ""
    if (.not. c_associated(text)) return
    call c_f_pointer(text, letters, [65536])
    do length = 1, 65536
      if (letters(length) == c_null_char) exit
      answer = answer // letters(length)
    end do
  end function

  ! Why the last call of this thread failed.
  function lf_error_text() result(answer)
    character(:), allocatable :: answer
    answer = lf_text(lf_last_error())
  end function

  ! The text of a report.
  function lf_report_text(report) result(answer)
    type(lf_report), intent(in) :: report
    character(:), allocatable :: answer
    integer :: length
    answer = ""
    do length = 1, LF_REPORT_LENGTH
      if (report%text(length) == c_null_char) exit
      answer = answer // report%text(length)
    end do
  end function

end module
