/* An all-reduce as a training step has it: sums of doubles over all ranks, of growing length, whose every element is checked. Times are
 * wall-clock times.
 *
 *   mpicc -O2 -o allreduce allreduce.c
 *   mpirun ... ./allreduce [LARGEST [ROUNDS]]	bytes; rounds of each length
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	long largest = argc > 1 ? atol(argv[1]) : 1 << 16, rounds = argc > 2 ? atol(argv[2]) : 3;
	double *own = malloc((size_t)largest), *sum = malloc((size_t)largest);
	if (!own || !sum || largest < 8)
		MPI_Abort(MPI_COMM_WORLD, 2);
	if (rank == 0)
		printf("%d ranks\n%10s %14s\n", ranks, "bytes", "us");
	for (long bytes = 8; bytes <= largest; bytes *= 8) {
		int count = (int)(bytes / 8);
		double seconds = 0, slowest;
		for (long round = 0; round < rounds; round++) {
			for (int i = 0; i < count; i++) {
				own[i] = (double)(i % 1000) * (rank + 1) + (double)round;
				sum[i] = -1;
			}
			MPI_Barrier(MPI_COMM_WORLD);
			double start = MPI_Wtime();
			MPI_Allreduce(own, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
			seconds += MPI_Wtime() - start;
			for (int i = 0; i < count; i++) {
				double want = (double)(i % 1000) * ranks * (ranks + 1) / 2 + (double)round * ranks;
				if (sum[i] != want) {
					fprintf(stderr, "rank %d: element %d of %d is %g, not %g\n", rank, i, count, sum[i], want);
					MPI_Abort(MPI_COMM_WORLD, 1);
				}
			}
		}
		MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
		if (rank == 0)
			printf("%10ld %14.1f\n", bytes, slowest / (double)rounds * 1e6);
	}
	if (rank == 0)
		printf("all sums are right\n");
	free(own);
	free(sum);
	MPI_Finalize();
	return 0;
}
