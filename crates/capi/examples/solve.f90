! A solve, and a check of an operator with an error in it. Compile: gfortran lanefield.f90 solve.f90 $(pkg-config --libs lanefield)
module watching
  use lanefield
  implicit none
contains

  ! Prints every twentieth iteration.
  function watch(user, iteration, residual) bind(C) result(stop)
    type(c_ptr), value :: user
    integer(c_int64_t), value :: iteration
    real(c_double), value :: residual
    integer(c_int32_t) :: stop
    if (mod(iteration, 20_c_int64_t) == 0) print "(a, i0, a, es9.2)", "iteration ", iteration, ": |r|/|b| = ", residual
    stop = 0
    if (c_associated(user)) stop = 1
  end function

end module

program solve
  use watching
  implicit none
  integer(c_int32_t), parameter :: extents(4) = [4, 2, 2, 4]
  ! Colour, spin, x, y, z, t.
  complex(c_double_complex), dimension(0:2, 0:3, 0:3, 0:1, 0:1, 0:3), target :: eta, psi, image
  character(kind=c_char, len=5), target :: mass = "mass" // c_null_char
  type(c_ptr) :: context, configuration, wilson, field, product
  type(lf_parameter) :: parameters(1)
  type(lf_solve_options) :: options
  type(lf_solve_info) :: info
  type(lf_report) :: report
  integer(c_size_t) :: reals
  real(c_double) :: residual, of_fields

  call must(lf_context_create("cpu" // c_null_char, 2_c_int32_t, context))
  call must(lf_configuration_hot(context, extents, 7_c_int64_t, configuration))
  parameters(1) = lf_parameter(name=c_loc(mass), number=0.5d0)
  call must(lf_operator_create(context, configuration, "wilson" // c_null_char, parameters, 1_c_size_t, wilson))
  call must(lf_operator_reals(wilson, reals))
  if (reals /= 2 * size(eta)) error stop "the arrays have another size"

  ! A point source.
  call must(lf_source(wilson, "point:3,0,1,2,2,1" // c_null_char, c_loc(eta), reals))
  options%tolerance = 1d-9
  options%progress = c_funloc(watch)
  call must(lf_solve(wilson, c_loc(eta), c_loc(psi), reals, options, info))
  call must(lf_operator_apply_f64(wilson, LF_FULL, LF_ALL_SITES, 0, c_loc(psi), c_loc(image), reals))
  image = image - eta
  call must(lf_norm2_f64(context, c_loc(image), reals / 24, 12_c_size_t, residual))
  print "(i0, a, es9.2)", info%iterations, " iterations, |M psi - eta|^2 = ", residual
  if (.not. residual < 1d-16) error stop "no solution"

  ! The same residual from fields that the context stores, on its device if it has one.
  call must(lf_field_create(wilson, LF_ALL_SITES, LF_F64, field))
  call must(lf_field_create(wilson, LF_ALL_SITES, LF_F64, product))
  call must(lf_field_upload_f64(field, c_loc(psi), reals))
  call must(lf_field_apply(wilson, LF_FULL, 0, field, product))
  call must(lf_field_upload_f64(field, c_loc(eta), reals))
  call must(lf_field_axpy(-1d0, field, product))
  call must(lf_field_norm2(product, of_fields))
  if (of_fields /= residual) error stop "the residual of fields is another one"
  call lf_field_free(field)
  call lf_field_free(product)

  ! The operator on psi, with one number wrong.
  call must(lf_operator_apply_f64(wilson, LF_FULL, LF_ALL_SITES, 0, c_loc(psi), c_loc(image), reals))
  report = lf_new_report()
  call must(lf_check_operator_f64(wilson, LF_FULL, LF_ALL_SITES, 0, c_loc(psi), c_loc(image), reals, report))
  image(2, 1, 2, 0, 1, 3) = image(2, 1, 2, 0, 1, 3) + 1
  if (lf_check_operator_f64(wilson, LF_FULL, LF_ALL_SITES, 0, c_loc(psi), c_loc(image), reals, report) /= LF_DIFFERENT) &
    error stop "the fault was not found"
  print "(a)", lf_report_text(report)

  call lf_operator_free(wilson)
  call lf_configuration_free(configuration)
  call lf_context_free(context)

contains

  subroutine must(status)
    integer(c_int32_t), intent(in) :: status
    if (status == LF_OK) return
    print "(a)", lf_error_text()
    error stop 1
  end subroutine

end program
