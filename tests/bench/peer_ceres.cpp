/*
 * peer_ceres - Levenberg-Marquardt of the Ceres library, the judge of our optimiser of landmarks
 *
 *     peer_ceres NAME=FILE...      files of support_landmarks.h
 *
 * Each landmark is a problem of its own with analytic derivatives, 200 iterations at most (the
 * paper's number), all problems in parallel on all cores. Twice: squared errors, as the paper's
 * judge has it, and Ceres's nearest to the sum of errors that we minimise, a loss of soft L1 whose
 * corner is a tenth of a pixel. Printed: seconds (median of five), mean residual, ours.
 */
#include <ceres/ceres.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

struct camera {
    double fx, fy, cx, cy, r[9], t[3];
};

struct observation {
    int camera;
    double x, y;
};

struct landmark {
    double start[3], p[3], ours;
    std::vector<observation> seen;
};

struct file {
    std::vector<camera> cameras;
    std::vector<landmark> landmarks;
};

class reprojection : public ceres::SizedCostFunction<2, 3>
{
  public:
    reprojection(const camera &c_, const observation &o_) : c(c_), o(o_)
    {
    }
    bool Evaluate(double const *const *params, double *e, double **J) const override
    {
        const double *p = params[0];
        double q[3];
        for (int i = 0; i < 3; i++)
            q[i] = c.r[3 * i] * p[0] + c.r[3 * i + 1] * p[1] + c.r[3 * i + 2] * p[2] + c.t[i];
        if (q[2] <= 1e-3)
            return false;
        e[0] = c.fx * q[0] / q[2] + c.cx - o.x;
        e[1] = c.fy * q[1] / q[2] + c.cy - o.y;
        for (int i = 0; J && J[0] && i < 3; i++) {
            J[0][i] = c.fx * (c.r[i] - q[0] / q[2] * c.r[6 + i]) / q[2];
            J[0][3 + i] = c.fy * (c.r[3 + i] - q[1] / q[2] * c.r[6 + i]) / q[2];
        }
        return true;
    }

  private:
    const camera &c;
    const observation &o;
};

static double residual(const file &f, const landmark &m)
{
    double sum = 0;
    for (const observation &o : m.seen) {
        double e[2];
        const double *p = m.p;
        reprojection(f.cameras[(size_t)o.camera], o).Evaluate(&p, e, nullptr);
        sum += std::hypot(e[0], e[1]);
    }
    return sum / (double)m.seen.size();
}

static void solve(const file &f, landmark &m, bool soft)
{
    ceres::Problem problem;
    ceres::Solver::Options options;
    ceres::Solver::Summary summary;
    std::copy(m.start, m.start + 3, m.p);
    for (const observation &o : m.seen)
        problem.AddResidualBlock(new reprojection(f.cameras[(size_t)o.camera], o),
                                 soft ? new ceres::SoftLOneLoss(0.1) : nullptr, m.p);
    options.linear_solver_type = ceres::DENSE_QR;
    options.max_num_iterations = 200;
    options.function_tolerance = options.parameter_tolerance = 1e-10;
    options.num_threads = 1;
    options.logging_type = ceres::SILENT;
    ceres::Solve(options, &problem, &summary);
}

static double run(file &f, unsigned n_threads, bool soft)
{
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
    auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < n_threads; i++)
        threads.emplace_back([&] {
            for (size_t k; (k = next++) < f.landmarks.size();)
                solve(f, f.landmarks[k], soft);
        });
    for (std::thread &t : threads)
        t.join();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

static bool load(file &f, const char *path)
{
    std::ifstream in(path);
    size_t n_landmarks = 0, n_cameras = 0, n_observations = 0, n;
    in >> n_landmarks >> n_cameras >> n_observations;
    f.cameras.resize(n_cameras);
    for (camera &c : f.cameras) {
        in >> c.fx >> c.fy >> c.cx >> c.cy;
        for (double &r : c.r)
            in >> r;
        in >> c.t[0] >> c.t[1] >> c.t[2];
    }
    f.landmarks.resize(n_landmarks);
    for (landmark &m : f.landmarks) {
        in >> m.start[0] >> m.start[1] >> m.start[2] >> n >> m.ours;
        m.seen.resize(in ? n : 0);
        for (observation &o : m.seen)
            in >> o.camera >> o.x >> o.y;
    }
    return !in.fail() && n_landmarks > 0;
}

int main(int argc, char **argv)
{
    unsigned n_threads = std::max(1u, std::thread::hardware_concurrency());
    printf("Levenberg-Marquardt of Ceres %s, %u threads\n", CERES_VERSION_STRING, n_threads);
    printf("%-20s %-8s %12s %14s %12s %10s\n", "", "loss", "ms", "residual px", "ours px",
           "its/ours");
    for (int i = 1; i < argc; i++) {
        std::string word = argv[i], name = word.substr(0, word.find('='));
        file f;
        if (name == word || !load(f, argv[i] + name.size() + 1)) {
            fprintf(stderr, "%s: no file of landmarks\n", argv[i]);
            return 1;
        }
        for (int soft = 0; soft < 2; soft++) {
            double s[5], theirs = 0, ours = 0;
            for (double &t : s)
                t = run(f, n_threads, soft);
            std::sort(s, s + 5);
            for (const landmark &m : f.landmarks) {
                theirs += residual(f, m) / (double)f.landmarks.size();
                ours += m.ours / (double)f.landmarks.size();
            }
            printf("%-20s %-8s %12.4f %14.5f %12.5f %10.4f\n", name.c_str(),
                   soft ? "soft L1" : "squares", s[2] * 1e3, theirs, ours, theirs / ours);
            printf("@ %s.%s %.6g ms\n", name.c_str(), soft ? "soft" : "squares", s[2] * 1e3);
            printf("@ %s.%s_residual %.6g px\n", name.c_str(), soft ? "soft" : "squares", theirs);
        }
    }
    return 0;
}
