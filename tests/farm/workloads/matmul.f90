! A product of two matrices, column by column.
program matmul_columns
  implicit none
  integer, parameter :: n = 96
  real(8) :: a(n, n), b(n, n), c(n, n)
  integer :: i, j, k
  do j = 1, n
    do i = 1, n
      a(i, j) = mod(i * 7 + j, 13)
      b(i, j) = mod(i + j * 5, 11)
    end do
  end do
  c = 0
  do j = 1, n
    do k = 1, n
      do i = 1, n
        c(i, j) = c(i, j) + a(i, k) * b(k, j)
      end do
    end do
  end do
  print '(f0.1)', sum(c)
end program
