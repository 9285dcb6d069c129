// EPOP in C++20: a program as phases, over epop.h.  Header only.
//
//     struct State { std::vector<double> field; std::int64_t step = 0; };
//
//     EPOP_PROGRAM(State, p)                           // makes get_program()
//     {
//         p.init([](epop::args a, State &s) { ... });  // MPI_Init_adapt, and the data
//         auto solve = p.elastic("solve", [](State &s) { ... })
//                          .while_([](const State &s) { return s.step < 1000; })
//                          .redistribute([](State &s, const epop::window &w) { ... });
// p.branch("back", [=](const State &s, int pc) { return s.converged ? pc + 1 : solve.pc(); });
//         p.rigid("output", [](State &s) { ... });
// }  Phases hold nothing: the state is the one object of type State, made before init and destroyed
// when the process ends.  A callable returns nothing, or int as in epop.h, and may throw: what() is
// printed on standard error and the job ends with code 1; no exception crosses the driver.  One
// program in a process; C++ thread rules are MPI's.

#ifndef EPOP_HPP_INCLUDED
#define EPOP_HPP_INCLUDED

#include "epop.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace elastic {
class data;     // <elastic.hpp>
}

namespace epop {

using window = epop_window_t;

// The arguments of the program; MPI_Init_adapt may change them.
struct args {
    int *count;
    char ***words;

    int size() const { return *count; }
    std::string operator[](int i) const { return (*words)[i]; }
};

namespace detail {

// Calls what the user has given: nothing returned is 0, an exception is 1.
template <class Result, class Callable> Result guarded(const char *what, Callable &&callable)
{
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<Callable>>) {
            callable();
            return Result(0);
        } else {
            return Result(callable());
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "epop: %s: %s\n", what, error.what());
    } catch (...) {
        std::fprintf(stderr, "epop: %s: an exception that is no std::exception\n", what);
    }
    return Result(1);
}

} // namespace detail

template <class State> class program {
  public:
    // An elastic or rigid phase, while it is described.
    class phase {
      public:
        // The element's number: where a branch goes to.
        int pc() const { return at_; }

        template <class F> phase while_(F condition) const
        {
            element().condition = [=](State &s) { return condition(std::as_const(s)) ? 1 : 0; };
            return *this;
        }
        template <class F> phase redistribute(F move) const
        {
            element().move = [=, name = element().name](State &s, const window &w) {
                return detail::guarded<int>(name.c_str(), [&] { return move(s, w); });
            };
            return *this;
        }
        template <class F> phase total(F count) const
        {
            element().total = [=](State &s) {
                return static_cast<std::int64_t>(count(std::as_const(s)));
            };
            return *this;
        }

      private:
        friend program;
        phase(program *of, int at) : program_(of), at_(at) {}
        auto &element() const { return program_->elements_[static_cast<std::size_t>(at_)]; }
        program *program_;
        int at_;
    };

    // Once in each process, before everything else.
    template <class F> void init(F first)
    {
        elements_[0].init = [=](args a, State &s) {
            return detail::guarded<int>("init", [&] { return first(a, s); });
        };
    }
    template <class F> phase elastic(std::string name,
                                     F execute) { return add(EPOP_EP, std::move(name), execute); }
    // The members of the state: describe(state, data) registers it, once in each process, and it
    // moves in the windows of all elastic phases without `redistribute`.  One registration for the
    // program, since layouts may have a state of their own.  Needs <elastic.hpp>.
    template <class F, class Data = ::elastic::data> void arrays(F describe)
    {
        // never freed: MPI has ended before the objects of the program do
        move_all_ = [=, data = static_cast<Data *>(nullptr)](State &s, const window &w) mutable {
            return detail::guarded<int>("arrays", [&] {
                if (!data) {
                    data = new Data;
                    describe(s, *data);
                }
                data->move(w);
            });
        };
    }
    template <class F> phase rigid(std::string name,
                                   F execute) { return add(EPOP_RP, std::move(name), execute); }
    // choose(state, pc) gives the next element's number.
    template <class F> int branch(std::string name, F choose)
    {
        const int pc = append(EPOP_BRANCH, std::move(name));
        elements_.back().choose = [=](const State &s, int at) { return choose(s, at); };
        return pc;
    }
    template <class F> int branch(F choose) { return branch("branch", choose); }
    // A leaving process calls this after the window, with MPIR_CVAR_ADAPT_LEAVERS_RETURN=1.
    template <class F> void leave(F last)
    {
        leave_ = [=](State &s) { return detail::guarded<int>("leave", [&] { return last(s); }); };
    }

    // After each window, on all processes of the new world: what follows from rank and size.
    // settle(state, rank, size)
    template <class F> void after(F settle)
    {
        after_ = [=](State &s, int rank, int size) {
            return detail::guarded<int>("after", [&] { return settle(s, rank, size); });
        };
    }

    program() { append(EPOP_INIT, "init"); }
    program(const program &) = delete;

    // The same as the C structures that the driver reads.  Null: there are too many elements.
    program_t *described(const char *name)
    {
        if (elements_.size() > MOST_ELEMENTS) {
            std::fprintf(stderr,
                         "epop: the program has %zu elements; in C++ it has at most %zu: combine "
                         "phases, or "
                         "describe it in C\n", elements_.size(), MOST_ELEMENTS);
            return nullptr;
        }
        c_elements_.clear();
        for (element_of_state &element : elements_)
            if (element.type == EPOP_EP && !element.move && move_all_)
                element.move = [this](State &s, const window &w) { return move_all_(s, w); };
        for (std::size_t at = 0; at < elements_.size(); at++)
            c_elements_.push_back(described_element(elements_[at], at));
        c_program_ = {this, static_cast<int>(c_elements_.size()), c_elements_.data(), name,
                      leave_ ? &call_leave : nullptr, after_ ? &call_after : nullptr};
        instance() = this;
        return &c_program_;
    }

  private:
    struct element_of_state {
        int type;
        std::string name;
        std::function<int(args, State &)> init;
        std::function<int(State &)> execute, condition;
        std::function<int(State &, const window &)> move;
        std::function<std::int64_t(State &)> total;
        std::function<int(const State &, int)> choose;
    };

    int append(int type, std::string name)
    {
        elements_.push_back({type, std::move(name), {}, {}, {}, {}, {}, {}});
        return static_cast<int>(elements_.size()) - 1;
    }
    template <class F> phase add(int type, std::string name, F execute)
    {
        phase made(this, append(type, name));
        made.element().execute = [=](State &s) {
            return detail::guarded<int>(name.c_str(), [&] { return execute(s); });
        };
        return made;
    }

    // The driver calls functions of C.  Their number is that of their element.
    static constexpr std::size_t MOST_ELEMENTS = 64;
    static program *&instance()
    {
        static program *the_program = nullptr;
        return the_program;
    }
    static element_of_state &at(std::size_t pc) { return instance()->elements_[pc]; }
    static State &state() { return *instance()->state_; }

    // Conditions have no code for an error: what they throw ends the job by the driver's P7, as the
    // error of the next execution, or here if there is none.
    template <class Callable> static auto value_of(std::size_t pc, Callable &&callable)
    {
        try {
            return callable();
        } catch (const std::exception &error) {
            std::fprintf(stderr, "epop: %s: %s\n", at(pc).name.c_str(), error.what());
        } catch (...) {
            std::fprintf(stderr, "epop: %s: an exception that is no std::exception\n",
                         at(pc).name.c_str());
        }
        int up = 0;
        MPI_Initialized(&up);
        if (up)
            MPI_Abort(MPI_COMM_WORLD, 1);
        std::exit(1);
    }

    static int call_init(int *argn, char ***argc, void **data)
    {
        *data = instance();
        return at(0).init(args{argn, argc}, state());
    }
    static int call_after(void *, int rank, int size) { return instance()->after_(state(), rank,
        size); }
    static int call_leave(void *) { return instance()->leave_(state()); }
    template <std::size_t PC> struct calls {
        static int execute(void *) { return at(PC).execute(state()); }
        static int condition(void *) { return value_of(PC,
                                                       [] { return at(PC).condition(state()); }); }
        static int move(void *, const window *w) { return at(PC).move(state(), *w); }
        static std::int64_t total(void *) { return value_of(PC,
                                                            [] { return at(PC).total(state()); }); }
        static int choose(int pc, void *) { return value_of(PC, [pc] { return at(PC).choose(state(),
                                                                pc); }); }
    };
    template <std::size_t PC> static void fill(program_element_t &to, const element_of_state &from)
    {
        to.phase_exec = from.execute ? &calls<PC>::execute : nullptr;
        to.loop_condition = from.condition ? &calls<PC>::condition : nullptr;
        to.phase_redistribute = from.move ? &calls<PC>::move : nullptr;
        to.loop_total = from.total ? &calls<PC>::total : nullptr;
        to.branch_condition = from.choose ? &calls<PC>::choose : nullptr;
    }
    template <std::size_t... PC>
    static void fill_at(std::size_t at, program_element_t &to, const element_of_state &from,
                        std::index_sequence<PC...>)
    {
        ((PC == at ? fill<PC>(to, from) : void()), ...);
    }

    program_element_t described_element(const element_of_state &from, std::size_t at)
    {
        program_element_t element = {};
        element.type = from.type;
        element.name = from.name.c_str();
        element.init = from.init ? &call_init : nullptr;
        fill_at(at, element, from, std::make_index_sequence<MOST_ELEMENTS>());
        return element;
    }

    std::deque<element_of_state> elements_;
    std::function<int(State &)> leave_;
    std::function<int(State &, int, int)> after_;
    std::function<int(State &, const window &)> move_all_;
    std::unique_ptr<State> state_ = std::make_unique<State>();
    std::vector<program_element_t> c_elements_;
    program_t c_program_ = {};
};

} // namespace epop

// Defines get_program: what follows in braces describes `name`, an epop::program<State>.
#define EPOP_PROGRAM(State, name) \
    static void epop_describe(epop::program<State> &name); \
    extern "C" program_t *get_program(void) \
    { \
        static epop::program<State> made; \
        epop_describe(made); \
        return made.described(nullptr); \
    } \
    static void epop_describe(epop::program<State> &name)

#endif // EPOP_HPP_INCLUDED
