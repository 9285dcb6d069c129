#include "cli/job_options.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

using Words = std::vector<std::string>;

Json request_of(const JobOptions &options)
{
    auto request = job_request(options, "/here", {{"PATH", "/bin"}, {"HOME", "/root"}, {"X", "1"}});
    EXPECT_TRUE(request) << request.error();
    return request ? request.value() : Json::object();
}

TEST(JobOptionsTest, what_is_not_given_is_not_sent)
{
    Json request = request_of({});
    EXPECT_EQ(request.size(), 2U) << request;
    EXPECT_EQ(request["directory"], "/here");
    EXPECT_EQ(request["environment"].size(), 3U);
}

TEST(JobOptionsTest, hints_of_speed_and_time)
{
    JobOptions options;
    options.speedup = "amdahl:0.02";
    options.expect = "10m";
    Json request = request_of(options);
    EXPECT_EQ(request["speedup"], (Json{{"law", "amdahl"}, {"serial", 0.02}}));
    EXPECT_EQ(request["expect_ms"], 600000);
    options.speedup = "linear";
    EXPECT_EQ(request_of(options)["speedup"]["serial"], 0.0);
    for (const char *wrong : {"amdahl", "amdahl:", "amdahl:2", "amdahl:-1", "amdahl:0.1x",
                              "amdahl:1.2.3", "downey:3"}) {
        options.speedup = wrong;
        auto request = job_request(options, "/here", {});
        EXPECT_TRUE(!request && request.error().find("--speedup") == 0) << wrong;
    }
    options.speedup.clear();
    options.expect = "soon";
    EXPECT_FALSE(job_request(options, "/here", {}));
}

TEST(JobOptionsTest, sizes_times_and_folders)
{
    JobOptions options;
    options.size = "2:8";
    options.sizes = "multiple:2";
    options.time_limit = "1:30";
    options.directory = "sub";
    options.label = true;
    options.mpiexec = {"-prepend-rank"};
    Json request = request_of(options);
    EXPECT_EQ(request["min"], 2);
    EXPECT_EQ(request["max"], 8);
    EXPECT_EQ(request["sizes"], (Json{{"rule", "multiple:2"}}));
    options.sizes = " 1, 2-64 & multiple:2";
    EXPECT_EQ(request_of(options)["sizes"], (Json{{"rule", "1,2-64&multiple:2"}}));
    EXPECT_EQ(request["time_limit_ms"], 90000);
    EXPECT_EQ(request["directory"], "/here/sub");
    EXPECT_EQ(request["mpiexec"], Json({"-prepend-rank", "-l"}));
    options.psets = {"app://main", "app://all"};
    EXPECT_EQ(request_of(options)["mpiexec"],
              Json({"-prepend-rank", "-l", "--pset", "app://main", "--pset", "app://all"}));
    options.time_limit = "unlimited";
    EXPECT_EQ(request_of(options)["time_limit_ms"], 0) << "even where there is a default";
}

TEST(JobOptionsTest, nodes)
{
    JobOptions options;
    EXPECT_FALSE(request_of(options).contains("nodes"));
    options.nodes = "3";
    EXPECT_EQ(request_of(options)["nodes"], 3);
    EXPECT_FALSE(request_of(options).contains("nodes_max"));
    options.nodes = "3-5";
    EXPECT_EQ(request_of(options)["nodes"], 3);
    EXPECT_EQ(request_of(options)["nodes_max"], 5);
    options.nodes = "some";
    EXPECT_EQ(job_request(options, "/here", {}).error(),
              "-N: 'some' is not a number of nodes, such as 3 or 3-5");
}

TEST(JobOptionsTest, environment)
{
    JobOptions options;
    options.environment = "NONE";
    EXPECT_EQ(request_of(options)["environment"], (Json{{"PATH", "/bin"}}));
    options.environment = "X,MISSING,NEW=a=b";
    EXPECT_EQ(request_of(options)["environment"],
              (Json{{"PATH", "/bin"}, {"X", "1"}, {"NEW", "a=b"}}));
    options.environment = "ALL,NEW=2,X=3";
    EXPECT_EQ(request_of(options)["environment"],
              (Json{{"PATH", "/bin"}, {"HOME", "/root"}, {"X", "3"}, {"NEW", "2"}}));
}

TEST(JobOptionsTest, names_of_files)
{
    JobOptions options;
    options.output = "%x/%5j-%A.%u%%.%N";
    EXPECT_EQ(request_of(options)["output"], options.output);
    for (const char *wrong : {"%", "x%n", "%0j", "%5", "%12j", "a%%%t"}) {
        options.output = wrong;
        EXPECT_FALSE(job_request(options, "/", {})) << wrong;
    }
}

TEST(JobOptionsTest, messages_name_the_option)
{
    JobOptions options;
    options.size = "8:2";
    EXPECT_TRUE(job_request(options, "/", {}).error().starts_with("-n: "));
    options = {};
    options.time_limit = "soon";
    EXPECT_TRUE(job_request(options, "/", {}).error().starts_with("-t: "));
    for (const char *bad : {"odd", "multiple:", "multiple:0", "multiple:x"}) {
        options = {};
        options.sizes = bad;
        EXPECT_TRUE(job_request(options, "/", {}).error().starts_with("--sizes: ")) << bad;
    }
}

TEST(JobOptionsTest, words_as_a_shell_splits_them)
{
    EXPECT_EQ(split_words("  -n 2:8\t-J 'my job' ").value(), (Words{"-n", "2:8", "-J", "my job"}));
    EXPECT_EQ(split_words(R"(a\ b "c \"d\"" 'e\f' '' g#h # rest)").value(),
              (Words{"a b", "c \"d\"", "e\\f", "", "g#h"}));
    EXPECT_EQ(split_words("").value(), Words());
    for (const char *bad : {"'open", "\"open", "end\\"})
        EXPECT_FALSE(split_words(bad)) << bad;
}

TEST(JobOptionsTest, only_lines_at_the_head_of_a_script_are_options)
{
    EXPECT_EQ(script_options(
                  "#!/bin/sh\n#ELASTIC -n 2\n# text\n\n#ELASTIC\t-J x\r\necho\n#ELASTIC --late\n")
                  .value(),
              (Words{"-n", "2", "-J", "x"}));
    EXPECT_EQ(script_options("#!/bin/sh\n#ELASTICITY\n#ELASTIC").value(), Words());
    EXPECT_FALSE(script_options("#ELASTIC 'open\n"));
}

/* A shell whose directory was removed. */
TEST(JobOptionsTest, without_a_present_directory_an_absolute_one_is_needed)
{
    JobOptions options;
    for (const char *relative : {"", "results"}) {
        options.directory = relative;
        EXPECT_EQ(job_request(options, "", {}).error(),
                  "the present directory does not exist any more, or cannot be read: give an "
                  "absolute one (-D)");
    }
    options.directory = "/there";
    EXPECT_EQ(job_request(options, "", {}).value()["directory"], "/there");
}

}  // namespace
}  // namespace elastic
