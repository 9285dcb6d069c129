/*
 * Elastic programs in C++20, header only, over adapt_data.h (link with -ladapt_data).
 * doc/user/data-cpp.md.
 *
 *     int main(int argc, char **argv)
 *     {
 *         elastic::environment mpi(argc, argv);
 *         std::vector<double> field;
 *         long step = 0;
 *         elastic::data data;
 *         data.add("field", field, elastic::block(n));
 *         data.add("step", step);
 *         if (!mpi.joining())
 *             ...                                     first values of this process' part
 *         elastic::loop(mpi, [&] { return step < steps; }, [&] { ...; step++; },
 *                       [&](elastic::window &window) { data.move(window); });
 *     }
 *
 * Errors are exceptions of type elastic::error.  An exception that leaves an open window ends the
 * job: a window cannot be undone.  The program's own MPI calls keep the error handlers that they
 * have.  Not for several threads at once.
 */

#ifndef ELASTIC_HPP_INCLUDED
#define ELASTIC_HPP_INCLUDED

#include "elastic_data.hpp"
#include "elastic_fields.hpp"
#include "elastic_window.hpp"

#endif /* ELASTIC_HPP_INCLUDED */
