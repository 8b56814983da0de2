// Writes the schedule of goal_test.go in LogGOPSim's binary form, by LogGOPSim's own code (spcl/LogGOPSim, commit 76451de, src/LogGOPSim):
//
//	g++ -I LogGOPSim/src/LogGOPSim goal.cpp -o goal && ./goal schedule.bin
#include "Goal.hpp"

int main(int, char **arguments) {
  for (uint32_t rank = 0; rank < 3; rank++) {
    Goal g;
    g.SetRank(rank);
    g.SetNumRanks(3);
    if (rank == 0) {
      goalop_t l1 = g.Calc(0, 100, 0, 0), l2 = g.Send(0, 1, 10, 7, 0, 0);
      g.Recv(2, 0, 20, 7, 0, 0);
      goalop_t l4 = g.Calc(0, 50, 1, 0);
      g.Dependency(l2, l1);
      g.StartDependency(l4, l2);
    } else if (rank == 1) {
      goalop_t a = g.Recv(0, 1, 10, 7, 0, 0), b = g.Send(1, 2, 30, 7, 0, 1);
      g.Dependency(b, a);
    } else {
      g.Recv(1, 2, 30, 7, 0, 0);
      g.Send(2, 0, 20, 7, 0, 0);
      g.Send(2, 2, 5, 0, 0, 0);
      g.Recv(2, 2, 5, 0, 0, 0);
    }
    g.SerializeSchedule(arguments[1]);
  }
}
